import { TextArea, TextField } from '../components/Field';
import { useT } from '../i18n';
import type { CredentialKind, Server } from './api';

const PEM_START = '-----BEGIN CERTIFICATE-----'; // the same in every language

type Props = {
  kind: CredentialKind;
  provider: string;
  said: Record<string, string>;
  set: (name: string) => (event: { target: { value: string } }) => void;
  wrong: (name: string) => string | undefined;
};

/** The fields for the only server a secret may be sent to. */
export function ServerFields({ kind, provider, said, set, wrong }: Props) {
  const t = useT();
  const login = kind === 'user_password';
  const usual = usualPort(kind, provider);
  return (
    <>
      <TextField
        label={t('credentials.host')}
        about={t(login ? 'credentials.serverAbout' : 'credentials.hostAbout')}
        required
        placeholder={t(login ? 'credentials.serverExample' : 'credentials.hostExample')}
        autoComplete="off"
        autoCapitalize="none"
        spellCheck={false}
        value={said.host ?? ''}
        problem={wrong('host')}
        onChange={set('host')}
      />
      <TextField
        label={t(usual ? 'credentials.portOptional' : 'credentials.port')}
        type="number"
        min={1}
        max={65535}
        required={!usual}
        placeholder={usual}
        value={said.port ?? ''}
        problem={wrong('port')}
        onChange={set('port')}
      />
      {login && (
        <details className="text-sm">
          <summary className="cursor-pointer text-quiet">{t('credentials.ownAuthority')}</summary>
          <div className="mt-3">
            <TextArea
              label={t('credentials.caCertificate')}
              about={t('credentials.caCertificateAbout')}
              spellCheck={false}
              className="font-mono text-xs"
              placeholder={PEM_START}
              value={said.ca_certificate ?? ''}
              problem={wrong('ca_certificate')}
              onChange={set('ca_certificate')}
            />
          </div>
        </details>
      )}
    </>
  );
}

/** The default port; empty if it must be entered. */
function usualPort(kind: CredentialKind, provider: string): string {
  if (kind !== 'user_password') return '443';
  return { smtp: '587', database: '5432' }[provider] ?? '';
}

export function serverOf(said: Record<string, string>): Server {
  return {
    host: said.host ?? '',
    port: said.port ? Number(said.port) : undefined,
    ca_certificate: said.ca_certificate || undefined,
  };
}
