import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { Button, IconButton } from '../components/Button';
import { Confirm, Dialog } from '../components/Dialog';
import { Ago, Badge } from '../components/Pieces';
import { type Key, useT } from '../i18n';
import { queryClient, usePages } from '../api/queries';
import { type Credential, libraryApi } from './api';
import { BindCredential } from './BindCredential';
import { CredentialForm } from './CredentialForm';
import { Heading, Listed, useAttempt } from './Screen';

export function Credentials() {
  const t = useT();
  const [adding, setAdding] = useState(false);
  const found = usePages(['credentials'], libraryApi.credentials);
  const providers =
    useQuery({ queryKey: ['providers'], queryFn: libraryApi.providers, staleTime: Infinity }).data?.results ?? [];
  return (
    <>
      <Heading title={t('library.credentials')} about={t('credentials.about')}>
        {providers.map((provider) => (
          <a
            key={provider.name}
            href={libraryApi.signInUrl(provider.name, '/library/credentials')}
            className="inline-flex h-9 items-center rounded-lg border border-line bg-card px-3.5 text-sm font-medium hover:bg-hover"
          >
            {t('credentials.signIn', { name: provider.title })}
          </a>
        ))}
        <Button look="strong" icon="plus" onClick={() => setAdding(true)}>
          {t('credentials.add')}
        </Button>
      </Heading>
      <Listed answer={found} icon="key" empty={t('credentials.none')} hint={t('credentials.hint')}>
        {(rows) => (
          <ul className="panel divide-y divide-line">
            {rows.map((credential) => (
              <Row key={credential.id} credential={credential} />
            ))}
          </ul>
        )}
      </Listed>
      <Dialog
        open={adding}
        onClose={() => setAdding(false)}
        title={t('credentials.add')}
        about={t('credentials.addAbout')}
      >
        <CredentialForm onKept={() => setAdding(false)} />
      </Dialog>
    </>
  );
}

const STATUS: Record<string, Key> = {
  expired: 'credentials.expired',
  host_needed: 'credentials.hostNeeded',
  sign_in_again: 'credentials.signInAgain',
};

function Row({ credential }: { credential: Credential }) {
  const t = useT();
  const [asking, setAsking] = useState(false);
  const [binding, setBinding] = useState(false);
  const attempt = useAttempt();
  const remove = async () => {
    await attempt(libraryApi.removeCredential(credential.id));
    await queryClient.invalidateQueries({ queryKey: ['credentials'] });
  };
  return (
    <li className="flex flex-wrap items-center gap-3 px-4 py-3 text-sm">
      <div className="min-w-0 flex-1">
        <p className="flex flex-wrap items-center gap-2 font-medium">
          {credential.title || credential.provider}
          <Badge>{credential.provider}</Badge>
          {credential.status !== 'ok' && (
            <Badge tone="attention">{t(STATUS[credential.status] ?? 'credentials.signInAgain')}</Badge>
          )}
        </p>
        <p className="text-[13px] text-quiet">
          {credential.host &&
            `${credential.host}${credential.port && credential.port !== 443 ? `:${credential.port}` : ''} · `}
          {t(credential.used_at ? 'keys.used' : 'keys.neverUsed')}{' '}
          {credential.used_at && <Ago when={credential.used_at} />}
        </p>
      </div>
      {credential.status === 'host_needed' && <Button onClick={() => setBinding(true)}>{t('credentials.bind')}</Button>}
      <Dialog
        open={binding}
        onClose={() => setBinding(false)}
        title={t('credentials.bindTitle', { name: credential.title || credential.provider })}
        about={t('credentials.bindAbout')}
      >
        <BindCredential credential={credential} onBound={() => setBinding(false)} />
      </Dialog>
      <IconButton
        icon="trash"
        size="small"
        label={t('common.deleteNamed', { name: credential.title || credential.provider })}
        onClick={() => setAsking(true)}
      />
      <Confirm
        open={asking}
        onClose={() => setAsking(false)}
        onConfirm={() => void remove()}
        title={t('credentials.deleteTitle')}
        about={t('credentials.deleteAbout')}
        action={t('common.delete')}
      />
    </li>
  );
}
