import { useRef, useState } from 'react';
import { Link, useLocation } from 'wouter';
import { Button } from '../components/Button';
import { Icon } from '../components/icons';
import { Ago, Badge } from '../components/Pieces';
import { useT } from '../i18n';
import { useServerState } from '../browser/debounce';
import { queryClient, useGathered, usePages } from '../api/queries';
import { toast } from '../app/toasts';
import { type Agent, libraryApi } from './api';
import { Heading, Listed, useAttempt } from './Screen';
import { SearchField } from './SearchField';

const NEWS = new Set(['operation.updated', 'turn.finished', 'reconnected']);

export function Agents() {
  const t = useT();
  const [search, setSearch] = useState('');
  const words = useServerState(search.trim(), 250);
  const found = usePages(['agents', words], (cursor) => libraryApi.agents(words, cursor), { steady: true });
  useGathered(
    (hint) => NEWS.has(hint.type),
    () => void found.refetch(),
  ); // agents are built in chats
  return (
    <>
      <Heading title={t('library.agents')} about={t('agents.about')}>
        <SearchField label={t('agents.search')} value={search} onChange={setSearch} />
        <Import />
        <NewAgent />
      </Heading>
      <Listed
        answer={found}
        icon="agent"
        empty={t(words ? 'agents.nothingFound' : 'agents.none')}
        hint={t('agents.hint')}
      >
        {(rows) => (
          <ul className="grid gap-4 sm:grid-cols-2 lg:grid-cols-3">
            {rows.map((agent) => (
              <Card key={agent.id} agent={agent} />
            ))}
          </ul>
        )}
      </Listed>
    </>
  );
}

function Card({ agent }: { agent: Agent }) {
  const t = useT();
  return (
    <li>
      <Link
        href={`/library/agents/${agent.id}`}
        className="panel flex h-full flex-col gap-2 p-4 transition-colors hover:border-accent"
      >
        <span className="flex items-center gap-2.5">
          <span className="rounded-lg bg-accent-soft p-1.5 text-accent-text">
            <Icon name="agent" />
          </span>
          <span className="min-w-0 flex-1 truncate font-medium">{agent.name}</span>
        </span>
        <span className="line-clamp-3 flex-1 text-sm text-quiet">{agent.description || t('agents.noDescription')}</span>
        <span className="flex flex-wrap items-center gap-2 pt-1 text-xs text-quiet">
          <Badge>{t('agents.version', { version: agent.version })}</Badge>
          {!agent.valid && <Badge tone="attention">{t('agents.invalid')}</Badge>}
          {agent.store && <Badge>{agent.store}</Badge>}
          <span className="ml-auto">
            <Ago when={agent.updated_at} />
          </span>
        </span>
      </Link>
    </li>
  );
}

/** Makes an empty agent and opens it in the builder. */
function NewAgent() {
  const t = useT();
  const [, go] = useLocation();
  const [busy, setBusy] = useState(false);
  const attempt = useAttempt();
  const begin = async () => {
    setBusy(true);
    const made = await attempt(libraryApi.importAgent({ name: t('agents.untitled'), nodes: [], links: [] }));
    setBusy(false);
    if (made) go(`/library/agents/${made.id}/edit`);
  };
  return (
    <Button look="strong" icon="plus" busy={busy} onClick={() => void begin()}>
      {t('agents.new')}
    </Button>
  );
}

/** Imports agent JSON from a file, of this product or of AutoGPT. */
function Import() {
  const t = useT();
  const [, go] = useLocation();
  const picker = useRef<HTMLInputElement>(null);
  const attempt = useAttempt();
  const read = async (file: File) => {
    let document: unknown;
    try {
      document = JSON.parse(await file.text());
    } catch {
      return toast(t('agents.noJson', { name: file.name }), 'wrong');
    }
    const made = await attempt(libraryApi.importAgent(document));
    if (!made) return;
    await queryClient.invalidateQueries({ queryKey: ['agents'] });
    go(`/library/agents/${made.id}`);
  };
  return (
    <>
      <input
        ref={picker}
        type="file"
        hidden
        accept="application/json,.json"
        onChange={(event) => {
          const [file] = event.target.files ?? [];
          if (file) void read(file);
          event.target.value = '';
        }}
      />
      <Button icon="upload" onClick={() => picker.current?.click()}>
        {t('agents.import')}
      </Button>
    </>
  );
}
