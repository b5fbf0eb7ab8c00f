import { Link } from 'wouter';
import { Ago, Badge } from '../components/Pieces';
import { useT } from '../i18n';
import { useFormat } from '../i18n/format';
import { useGathered, usePages } from '../api/queries';
import { type Execution, libraryApi } from './api';
import { Heading, Listed } from './Screen';
import { statusKey, toneOf } from './status';

export function Executions() {
  const t = useT();
  return (
    <>
      <Heading title={t('library.runs')} about={t('runs.about')} />
      <ExecutionList />
    </>
  );
}

export function ExecutionList({ agent }: { agent?: string }) {
  const t = useT();
  const found = usePages(['executions', agent ?? ''], (cursor) => libraryApi.executions(agent, cursor));
  useGathered(
    (hint) => hint.type === 'execution.updated' || hint.type === 'reconnected',
    () => void found.refetch(),
  );
  return (
    <>
      <Listed answer={found} icon="play" empty={t('runs.none')} hint={t('runs.hint')}>
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

function Row({ execution }: { execution: Execution }) {
  const t = useT();
  const format = useFormat();
  const seconds =
    execution.started_at && execution.ended_at
      ? (Date.parse(execution.ended_at) - Date.parse(execution.started_at)) / 1000
      : null;
  return (
    <li>
      <Link href={`/library/runs/${execution.id}`} className="flex items-center gap-3 px-4 py-3 text-sm hover:bg-hover">
        <Badge tone={toneOf(execution.status)}>{t(statusKey(execution.status))}</Badge>
        <span className="min-w-0 flex-1 truncate font-medium">{execution.agent_name ?? execution.id}</span>
        <span className="hidden text-[13px] text-quiet sm:inline">{seconds !== null && format.span(seconds)}</span>
        <span className="w-24 text-right text-[13px] text-quiet">
          <Ago when={execution.queued_at} />
        </span>
      </Link>
    </li>
  );
}
