import { useState } from 'react';
import { Button } from '../components/Button';
import { SelectField, TextField } from '../components/Field';
import { type Key, useT } from '../i18n';
import { ApiError } from '../api/http';
import { queryClient } from '../api/queries';
import { errorText } from '../api/errorText';
import { type Credential, type CredentialKind, libraryApi } from './api';
import { ServerFields, serverOf } from './ServerFields';

const KINDS: [CredentialKind, Key][] = [
  ['api_key', 'credentials.apiKey'],
  ['user_password', 'credentials.userPassword'],
  ['host_scoped', 'credentials.hostScoped'],
];

type Props = { provider?: string; kinds?: CredentialKind[]; onKept: (credential: Credential) => void };

/** The form for a secret, which is never shown again. Provider and kind may be given. */
export function CredentialForm({ provider: known, kinds, onKept }: Props) {
  const t = useT();
  const offered = KINDS.filter(([value]) => !kinds?.length || kinds.includes(value));
  const [kind, setKind] = useState<CredentialKind>(offered[0]?.[0] ?? 'api_key');
  const [said, setSaid] = useState<Record<string, string>>({ provider: known ?? '' });
  const [problem, setProblem] = useState<ApiError | null>(null);
  const set = (name: string) => (event: { target: { value: string } }) =>
    setSaid((all) => ({ ...all, [name]: event.target.value }));
  const wrong = (name: string) => problem?.fields[name]?.[0];
  const keep = async () => {
    setProblem(null);
    try {
      const kept = await libraryApi.keepCredential({
        provider: said.provider ?? '',
        kind,
        title: said.title,
        ...secretOf(kind, said),
      });
      await queryClient.invalidateQueries({ queryKey: ['credentials'] });
      onKept(kept);
    } catch (error) {
      setProblem(error instanceof ApiError ? error : new ApiError(0, 'offline', ''));
    }
  };
  return (
    <form action={keep} className="flex flex-col gap-4" autoComplete="off">
      {!known && (
        <TextField
          label={t('credentials.provider')}
          about={t('credentials.providerAbout')}
          value={said.provider}
          problem={wrong('provider')}
          onChange={set('provider')}
        />
      )}
      {offered.length > 1 && (
        <SelectField
          label={t('credentials.kind')}
          choices={offered.map(([value, label]) => ({ value, label: t(label) }))}
          value={kind}
          onChange={(event) => setKind(event.target.value as CredentialKind)}
        />
      )}
      <TextField
        label={t('credentials.title')}
        value={said.title ?? ''}
        problem={wrong('title')}
        onChange={set('title')}
      />
      {kind === 'api_key' && (
        <TextField
          label={t('credentials.apiKey')}
          type="password"
          autoComplete="new-password"
          value={said.api_key ?? ''}
          problem={wrong('api_key')}
          onChange={set('api_key')}
        />
      )}
      {kind === 'user_password' && (
        <>
          <TextField
            label={t('credentials.username')}
            autoComplete="off"
            value={said.username ?? ''}
            problem={wrong('username')}
            onChange={set('username')}
          />
          <TextField
            label={t('credentials.password')}
            type="password"
            autoComplete="new-password"
            value={said.password ?? ''}
            problem={wrong('password')}
            onChange={set('password')}
          />
        </>
      )}
      {kind === 'host_scoped' && (
        <>
          <TextField
            label={t('credentials.headerName')}
            value={said.header ?? 'Authorization'}
            onChange={set('header')}
          />
          <TextField
            label={t('credentials.headerValue')}
            type="password"
            autoComplete="new-password"
            value={said.value ?? ''}
            problem={wrong('headers')}
            onChange={set('value')}
          />
        </>
      )}
      {kind !== 'api_key' && (
        <ServerFields kind={kind} provider={said.provider ?? ''} said={said} set={set} wrong={wrong} />
      )}
      {problem && Object.keys(problem.fields).length === 0 && (
        <p role="alert" className="text-sm text-wrong">
          {errorText(problem, t)}
        </p>
      )}
      <Button look="strong" icon="check" type="submit" className="self-start">
        {t('credentials.keep')}
      </Button>
    </form>
  );
}

function secretOf(kind: CredentialKind, said: Record<string, string>) {
  if (kind === 'api_key') return { api_key: said.api_key ?? '' };
  if (kind === 'user_password')
    return { username: said.username ?? '', password: said.password ?? '', ...serverOf(said) };
  return {
    ...serverOf({ ...said, ca_certificate: '' }),
    headers: { [said.header || 'Authorization']: said.value ?? '' },
  };
}
