import { useState } from 'react';
import { Link } from 'wouter';
import type { Choice } from '../components/Field';
import { Ago, Badge } from '../components/Pieces';
import { type Key, useT } from '../i18n';
import { useFormat } from '../i18n/format';
import { useGathered, usePages } from '../api/queries';
import { type Execution, libraryApi } from './api';
import { Heading, Listed } from './Screen';
import { badgeOf, statusKey } from './status';

export function Executions() {
  const t = useT();
  return (
    <>
      <Heading title={t('library.runs')} about={t('runs.about')} />
      <ExecutionList />
    </>
  );
}

const STATUSES = ['RUNNING', 'REVIEW', 'COMPLETED', 'FAILED', 'TERMINATED', 'QUEUED'];
const SOURCES: Record<string, Key> = {
  api: 'source.api',
  chat: 'source.chat',
  schedule: 'source.schedule',
  trigger: 'source.trigger',
  agent: 'source.agent',
};

/** What started a run, in words. */
export const sourceKey = (source: string): Key => SOURCES[source] ?? 'source.api';

/** Runs, newest first, of one agent or of all; filtered by their state and by what started them. */
export function ExecutionList({ agent }: { agent?: string }) {
  const t = useT();
  const [status, setStatus] = useState('');
  const [source, setSource] = useState('');
  const filter = { agent, status, source };
  const found = usePages(['executions', filter], (cursor) => libraryApi.executions(filter, cursor), { steady: true });
  useGathered(
    (hint) => hint.type === 'execution.updated' || hint.type === 'reconnected',
    () => void found.refetch(),
  );
  return (
    <>
      <div className="flex flex-wrap gap-3 pb-4">
        <Filter
          label={t('runs.status')}
          value={status}
          onChange={setStatus}
          choices={STATUSES.map((one) => ({ value: one, label: t(statusKey(one)) }))}
        />
        <Filter
          label={t('runs.source')}
          value={source}
          onChange={setSource}
          choices={['api', 'chat', 'schedule', 'trigger'].map((one) => ({ value: one, label: t(sourceKey(one)) }))}
        />
      </div>
      <Listed
        answer={found}
        icon="play"
        empty={t(status || source ? 'runs.nothingFound' : 'runs.none')}
        hint={t('runs.hint')}
      >
        {(list) => (
          <ul className="panel divide-y divide-line">
            {list.map((execution) => (
              <Row key={execution.id} execution={execution} />
            ))}
          </ul>
        )}
      </Listed>
    </>
  );
}

type FilterProps = { label: string; value: string; choices: Choice[]; onChange: (value: string) => void };

function Filter({ label, value, choices, onChange }: FilterProps) {
  const t = useT();
  return (
    <select
      aria-label={label}
      value={value}
      onChange={(event) => onChange(event.target.value)}
      className="h-9 rounded-lg border border-line-strong bg-card px-2 text-sm"
    >
      <option value="">{t('runs.every', { what: label })}</option>
      {choices.map((choice) => (
        <option key={choice.value} value={choice.value}>
          {choice.label}
        </option>
      ))}
    </select>
  );
}

/** The inputs of a run in one line. */
function summary(inputs: Record<string, unknown>): string {
  const short = (value: unknown) => (typeof value === 'string' ? value : (JSON.stringify(value) ?? ''));
  return Object.entries(inputs)
    .map(([name, value]) => `${name}: ${short(value).slice(0, 80)}`)
    .join(', ');
}

function Row({ execution }: { execution: Execution }) {
  const t = useT();
  const format = useFormat();
  const seconds =
    execution.started_at && execution.ended_at
      ? (Date.parse(execution.ended_at) - Date.parse(execution.started_at)) / 1000
      : null;
  const badge = badgeOf(execution);
  return (
    <li>
      <Link href={`/library/runs/${execution.id}`} className="flex items-center gap-3 px-4 py-3 text-sm hover:bg-hover">
        <Badge tone={badge.tone}>{t(badge.name)}</Badge>
        <span className="min-w-0 flex-1">
          <span className="block truncate font-medium">{execution.agent_name ?? execution.id}</span>
          <span className="block truncate text-[13px] text-quiet">
            {[t(sourceKey(execution.source)), summary(execution.inputs)].filter(Boolean).join(' · ')}
          </span>
        </span>
        <span className="hidden text-[13px] text-quiet sm:inline">{seconds !== null && format.span(seconds)}</span>
        <span className="w-24 text-right text-[13px] text-quiet">
          <Ago when={execution.queued_at} />
        </span>
      </Link>
    </li>
  );
}
