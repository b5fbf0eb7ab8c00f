import { useState } from 'react';
import { Button, IconButton } from '../components/Button';
import { Confirm, Dialog } from '../components/Dialog';
import { SelectField, TextField } from '../components/Field';
import { Badge, Fold, Notice, type Tone } from '../components/Pieces';
import { type Key, useT } from '../i18n';
import { queryClient, usePages } from '../api/queries';
import { libraryApi, type NewServer, type ToolServer } from './api';
import { ServerTools } from './ServerTools';
import { Heading, Listed, useAttempt } from './Screen';

const STATUS: Record<string, [Key, Tone]> = {
  ok: ['connections.ok', 'good'],
  new: ['connections.new', 'calm'],
  failing: ['connections.failing', 'wrong'],
  sign_in: ['connections.signInNeeded', 'attention'],
  off: ['common.off', 'calm'],
};
const SCOPES: Record<string, Key> = { site: 'connections.ofSite', group: 'connections.ofGroup' };

/** The MCP servers that a person uses, and their tools. */
export function Connections() {
  const t = useT();
  const [adding, setAdding] = useState(false);
  const found = usePages(['connections'], libraryApi.connections);
  const problem = new URLSearchParams(window.location.search).get('problem');
  return (
    <>
      <Heading title={t('library.connections')} about={t('connections.about')}>
        <Button look="strong" icon="plus" onClick={() => setAdding(true)}>
          {t('connections.add')}
        </Button>
      </Heading>
      {problem && <Notice tone="wrong">{problem}</Notice>}
      <Listed answer={found} icon="bolt" empty={t('connections.none')} hint={t('connections.hint')}>
        {(rows) => (
          <ul className="flex flex-col gap-3">
            {rows.map((server) => (
              <Row key={server.id} server={server} />
            ))}
          </ul>
        )}
      </Listed>
      <Dialog
        open={adding}
        onClose={() => setAdding(false)}
        title={t('connections.add')}
        about={t('connections.addAbout')}
      >
        <NewServerForm onAdded={() => setAdding(false)} />
      </Dialog>
    </>
  );
}

export const refreshConnections = () => queryClient.invalidateQueries({ queryKey: ['connections'] });

function Row({ server }: { server: ToolServer }) {
  const t = useT();
  const [asking, setAsking] = useState(false);
  const [busy, setBusy] = useState(false);
  const attempt = useAttempt();
  const change = async (work: Promise<unknown>) => {
    setBusy(true);
    await attempt(work);
    setBusy(false);
    await refreshConnections();
  };
  const signIn = async () => {
    const answer = await attempt(libraryApi.signInAtServer(server.id, '/library/connections'));
    if (answer) window.location.assign(answer.url);
  };
  const [status, tone] = STATUS[server.status] ?? ['connections.ok', 'calm'];
  const waiting = server.tools.filter((tool) => tool.state === 'new' || tool.state === 'changed').length;
  const name = server.title || server.name;
  return (
    <li className="panel flex flex-col gap-2 p-4 text-sm" aria-label={name}>
      <div className="flex flex-wrap items-center gap-2">
        <span className="font-medium">{name}</span>
        <Badge tone={tone}>{t(status)}</Badge>
        {SCOPES[server.scope] && <Badge>{t(SCOPES[server.scope]!)}</Badge>}
        {waiting > 0 && <Badge tone="attention">{t('connections.waiting', { count: waiting })}</Badge>}
        <span className="ml-auto flex items-center gap-2">
          {server.auth === 'sign_in' && !server.signed_in && (
            <Button small look="strong" onClick={() => void signIn()}>
              {t('connections.signIn')}
            </Button>
          )}
          <Button small icon="refresh" busy={busy} onClick={() => void change(libraryApi.refreshServer(server.id))}>
            {t('connections.refresh')}
          </Button>
          {server.can_change && (
            <>
              <Button
                small
                aria-pressed={server.enabled}
                onClick={() => void change(libraryApi.changeServer(server.id, { enabled: !server.enabled }))}
              >
                {t(server.enabled ? 'common.switchOff' : 'common.switchOn')}
              </Button>
              <IconButton
                icon="trash"
                size="small"
                label={t('connections.remove', { name })}
                onClick={() => setAsking(true)}
              />
            </>
          )}
        </span>
      </div>
      <code className="text-xs break-all text-quiet">{server.url}</code>
      {server.last_error && <p className="text-wrong break-words">{server.last_error}</p>}
      <Fold title={t('connections.tools', { count: server.tools.length })} open={waiting > 0}>
        <ServerTools server={server} />
      </Fold>
      <Confirm
        open={asking}
        onClose={() => setAsking(false)}
        onConfirm={() => void change(libraryApi.removeServer(server.id))}
        title={t('connections.remove', { name })}
        about={t('connections.removeAbout')}
        action={t('common.delete')}
      />
    </li>
  );
}

function NewServerForm({ onAdded }: { onAdded: () => void }) {
  const t = useT();
  const [given, setGiven] = useState<NewServer>({ url: '', title: '', auth: 'none', key: '' });
  const [busy, setBusy] = useState(false);
  const attempt = useAttempt();
  const add = async () => {
    setBusy(true);
    const added = await attempt(libraryApi.addServer(given));
    setBusy(false);
    await refreshConnections();
    if (added) onAdded();
  };
  return (
    <form
      className="flex flex-col gap-4"
      onSubmit={(event) => {
        event.preventDefault();
        void add();
      }}
    >
      <TextField
        label={t('connections.url')}
        required
        value={given.url}
        placeholder="https://mcp.example.com/mcp"
        onChange={(event) => setGiven({ ...given, url: event.target.value })}
      />
      <TextField
        label={t('common.name')}
        value={given.title ?? ''}
        onChange={(event) => setGiven({ ...given, title: event.target.value })}
      />
      <SelectField
        label={t('connections.auth')}
        value={given.auth ?? 'none'}
        onChange={(event) => setGiven({ ...given, auth: event.target.value as NewServer['auth'] })}
        choices={[
          { value: 'none', label: t('connections.authNone') },
          { value: 'key', label: t('connections.authKey') },
          { value: 'sign_in', label: t('connections.authSignIn') },
        ]}
      />
      {given.auth === 'key' && (
        <TextField
          label={t('connections.key')}
          type="password"
          autoComplete="off"
          required
          value={given.key ?? ''}
          onChange={(event) => setGiven({ ...given, key: event.target.value })}
        />
      )}
      <Button look="strong" type="submit" busy={busy}>
        {t('connections.add')}
      </Button>
    </form>
  );
}
