import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { Button, IconButton } from '../components/Button';
import { Confirm } from '../components/Dialog';
import { TextField } from '../components/Field';
import { Ago, CopyButton, Empty, Failed, Loading, Notice } from '../components/Pieces';
import { useT } from '../i18n';
import { queryClient } from '../api/queries';
import { toast } from '../app/toasts';
import { errorText } from '../api/errorText';
import { accountApi, type ApiKey, type NewKey } from './api';
import { Grants } from './Grants';
import { KeyLimitsDialog } from './KeyLimits';
import { Snippets } from './Snippets';

const NAME = ['keys'];

/** API keys. A new one is shown once; after that only its prefix. */
export function Keys() {
  const t = useT();
  const { data, error, refetch } = useQuery({ queryKey: NAME, queryFn: accountApi.keys });
  const [fresh, setFresh] = useState<NewKey | null>(null);
  if (error) return <Failed words={errorText(error, t)} onRetry={() => void refetch()} />;
  if (!data) return <Loading />;
  return (
    <div className="flex max-w-3xl flex-col gap-5">
      <div>
        <h2 className="text-lg font-semibold">{t('keys.title')}</h2>
        <p className="text-sm text-quiet">{t('keys.about')}</p>
      </div>
      <NewKeyForm onMade={setFresh} />
      {fresh && (
        <Notice tone="good" icon="key" action={<CopyButton text={fresh.key} />}>
          <p className="font-medium">{t('keys.shownOnce')}</p>
          <code className="text-xs break-all">{fresh.key}</code>
        </Notice>
      )}
      <Snippets apiKey={fresh?.key ?? ''} />
      {data.results.length === 0 ? (
        <Empty icon="key" title={t('keys.none')} />
      ) : (
        <ul className="panel divide-y divide-line">
          {data.results.map((key) => (
            <KeyRow key={key.id} row={key} />
          ))}
        </ul>
      )}
      <Grants />
    </div>
  );
}

function NewKeyForm({ onMade }: { onMade: (key: NewKey) => void }) {
  const t = useT();
  const [name, setName] = useState('');
  const make = async () => {
    try {
      onMade(await accountApi.makeKey(name.trim()));
      setName('');
      await queryClient.invalidateQueries({ queryKey: NAME });
    } catch (error) {
      toast(errorText(error, t), 'wrong');
    }
  };
  return (
    <form action={make} className="flex items-end gap-2">
      <div className="max-w-xs flex-1">
        <TextField
          label={t('keys.name')}
          placeholder={t('keys.namePlaceholder')}
          value={name}
          maxLength={100}
          onChange={(event) => setName(event.target.value)}
        />
      </div>
      <Button look="strong" icon="plus" type="submit" disabled={!name.trim()}>
        {t('keys.make')}
      </Button>
    </form>
  );
}

const isLimited = (row: ApiKey) =>
  [row.allowed_models, row.allowed_tools, row.requests_per_minute, row.day_limit, row.month_limit].some(
    (limit) => limit !== null && limit !== undefined,
  );

function KeyRow({ row }: { row: ApiKey }) {
  const t = useT();
  const [asking, setAsking] = useState(false);
  const [limiting, setLimiting] = useState(false);
  const revoke = async () => {
    await accountApi.revokeKey(row.id).catch((error: unknown) => toast(errorText(error, t), 'wrong'));
    await queryClient.invalidateQueries({ queryKey: NAME });
  };
  return (
    <li className="flex items-center gap-3 px-4 py-3 text-sm">
      <div className="min-w-0 flex-1">
        <p className="truncate font-medium">{row.name}</p>
        <p className="text-[13px] text-quiet">
          <code>{row.prefix}…</code> · {t('keys.made')} <Ago when={row.created_at} /> ·{' '}
          {t(row.last_used_at ? 'keys.used' : 'keys.neverUsed')} {row.last_used_at && <Ago when={row.last_used_at} />}
          {isLimited(row) && ` · ${t('keys.limited')}`}
        </p>
      </div>
      <IconButton icon="gear" label={t('keys.limits', { name: row.name })} onClick={() => setLimiting(true)} />
      {limiting && (
        <KeyLimitsDialog
          row={row}
          onClose={() => setLimiting(false)}
          onSaved={() => void queryClient.invalidateQueries({ queryKey: NAME })}
        />
      )}
      <IconButton icon="trash" label={t('keys.revoke', { name: row.name })} onClick={() => setAsking(true)} />
      <Confirm
        open={asking}
        onClose={() => setAsking(false)}
        onConfirm={() => void revoke()}
        title={t('keys.revokeTitle')}
        about={t('keys.revokeAbout', { name: row.name })}
        action={t('keys.revokeAction')}
      />
    </li>
  );
}
