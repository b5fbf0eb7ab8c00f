import { useState } from 'react';
import { Button } from '../components/Button';
import { useT } from '../i18n';
import { ApiError } from '../api/http';
import { queryClient } from '../api/queries';
import { errorText } from '../api/errorText';
import { type Credential, type CredentialKind, libraryApi } from './api';
import { ServerFields, serverOf } from './ServerFields';

/** Binds a login without a server to one. */
export function BindCredential({ credential, onBound }: { credential: Credential; onBound: () => void }) {
  const t = useT();
  const [said, setSaid] = useState<Record<string, string>>({});
  const [problem, setProblem] = useState<ApiError | null>(null);
  const set = (name: string) => (event: { target: { value: string } }) =>
    setSaid((all) => ({ ...all, [name]: event.target.value }));
  const bind = async () => {
    setProblem(null);
    try {
      await libraryApi.bindCredential(credential.id, serverOf(said));
      await queryClient.invalidateQueries({ queryKey: ['credentials'] });
      onBound();
    } catch (error) {
      setProblem(error instanceof ApiError ? error : new ApiError(0, 'offline', ''));
    }
  };
  return (
    <form action={bind} className="flex flex-col gap-4" autoComplete="off">
      <ServerFields
        kind={credential.kind as CredentialKind}
        provider={credential.provider}
        said={said}
        set={set}
        wrong={(name) => problem?.fields[name]?.[0]}
      />
      {problem && Object.keys(problem.fields).length === 0 && (
        <p role="alert" className="text-sm text-wrong">
          {errorText(problem, t)}
        </p>
      )}
      <Button look="strong" icon="check" type="submit" className="self-start">
        {t('credentials.bind')}
      </Button>
    </form>
  );
}
