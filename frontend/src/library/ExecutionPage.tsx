import { useQuery } from '@tanstack/react-query';
import { lazy, Suspense, useEffect, useMemo, useState } from 'react';
import { Link } from 'wouter';
import { Button } from '../components/Button';
import { Icon } from '../components/icons';
import { Ago, Badge, Failed, Loading, Notice } from '../components/Pieces';
import { readGraph, titleOf } from '../graph/model';
import { useT } from '../i18n';
import { useFormat } from '../i18n/format';
import { errorText } from '../api/errorText';
import { type Execution, libraryApi, type NodeRun } from './api';
import { RunAgain } from './AgentActions';
import { NodePanel } from './NodePanel';
import { OpenReviews } from './OpenReviews';
import { sourceKey } from './Executions';
import { Inputs, Outputs } from './Outputs';
import { Heading, useAttempt } from './Screen';
import { badgeOf, hasEnded, type NodeStates, statusKey, toneOf } from './status';
import { spans } from './timeline';
import { useBlockNames } from './useBlockNames';
import { useExecution } from './useExecution';

const GraphView = lazy(() => import('../graph/GraphView'));

export function ExecutionPage({ id }: { id: string }) {
  const t = useT();
  const { data, error, refetch, states } = useExecution(id);
  if (error) return <Failed words={errorText(error, t)} onRetry={() => void refetch()} />;
  if (!data) return <Loading />;
  return <Shown execution={data} states={states} />;
}

function Shown({ execution, states }: { execution: Execution; states: NodeStates }) {
  const t = useT();
  const attempt = useAttempt();
  const ended = hasEnded(execution.status);
  const badge = badgeOf(execution);
  return (
    <div className="flex flex-col gap-6">
      <div>
        <Link
          href={execution.agent_removed ? '/library/runs' : `/library/agents/${execution.agent_id}`}
          className="inline-flex items-center gap-1 pb-3 text-sm text-quiet hover:text-ink"
        >
          <Icon name="left" size={14} /> {execution.agent_name ?? t('run.agent')}
        </Link>
        <Heading
          title={t('run.title')}
          about={
            <span className="flex flex-wrap items-center gap-2">
              <Badge tone={badge.tone}>{t(badge.name)}</Badge>
              <Badge>{t(sourceKey(execution.source))}</Badge>
              {execution.agent_removed && <Badge>{t('run.agentRemoved')}</Badge>}
              <Badge>{t('agents.version', { version: execution.version })}</Badge>
              <Ago when={execution.queued_at} />
            </span>
          }
        >
          {!ended && (
            <Button icon="stop" onClick={() => void attempt(libraryApi.cancelExecution(execution.id))}>
              {t('run.cancel')}
            </Button>
          )}
          {ended && !execution.agent_removed && <RunAgain execution={execution} />}
        </Heading>
        {execution.error && (
          <Notice tone="wrong" icon="warning">
            {execution.error}
          </Notice>
        )}
      </div>
      {execution.status === 'REVIEW' && <OpenReviews execution={execution.id} />}
      <section className="grid gap-6 lg:grid-cols-2">
        <div>
          <h3 className="pb-2 font-semibold">{t('run.outputs')}</h3>
          <Outputs outputs={execution.outputs} ended={ended} />
        </div>
        <div>
          <h3 className="pb-2 font-semibold">{t('run.inputs')}</h3>
          <Inputs inputs={execution.inputs} />
        </div>
      </section>
      <Drawn execution={execution} states={states} />
    </div>
  );
}

/** The graph with the state of each node, their time line, and the data of the selected one. */
function Drawn({ execution, states }: { execution: Execution; states: NodeStates }) {
  const names = useBlockNames();
  const [chosen, setChosen] = useState<string | null>(null);
  const { data } = useQuery({
    queryKey: ['agent', execution.agent_id, 'version', execution.version],
    queryFn: () => libraryApi.version(execution.agent_id, execution.version),
    staleTime: Infinity,
  });
  const graph = useMemo(() => readGraph(execution.graph ?? data?.graph), [execution.graph, data]);
  const titles = useMemo(
    () => new Map(graph.nodes.map((node) => [node.id, titleOf(node, names).title])),
    [graph, names],
  );
  const runs = execution.nodes ?? [];
  const runsOfChosen = runs.filter((run) => run.node_id === chosen);
  return (
    <>
      {graph.nodes.length > 0 && (
        <Suspense fallback={<Loading />}>
          <GraphView graph={graph} names={names} states={states} chosen={chosen} onChoose={setChosen} />
        </Suspense>
      )}
      {runs.length > 0 && (
        <Timeline runs={runs} titles={titles} chosen={chosen} onChoose={setChosen} live={!hasEnded(execution.status)} />
      )}
      {chosen && <NodePanel graph={graph} node={chosen} names={names} runs={runsOfChosen} />}
    </>
  );
}

type TimelineProps = {
  runs: NodeRun[];
  titles: Map<string, string>;
  chosen: string | null;
  onChoose: (node: string) => void;
  live: boolean;
};

function Timeline({ runs, titles, chosen, onChoose, live }: TimelineProps) {
  const t = useT();
  const format = useFormat();
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    if (!live) return;
    const timer = window.setInterval(() => setNow(Date.now()), 500);
    return () => window.clearInterval(timer);
  }, [live]);
  return (
    <section>
      <h3 className="pb-2 font-semibold">{t('run.timeline')}</h3>
      <ol className="panel flex flex-col divide-y divide-line overflow-hidden text-sm">
        {spans(runs, now).map((span) => (
          <li key={span.run.id}>
            <button
              type="button"
              aria-pressed={span.run.node_id === chosen}
              className="grid w-full cursor-pointer grid-cols-[minmax(7rem,1fr)_2fr_4rem] items-center gap-3 px-4 py-2 text-left hover:bg-hover aria-pressed:bg-chosen"
              onClick={() => onChoose(span.run.node_id)}
            >
              <span className="flex min-w-0 items-center gap-2">
                <span className="sr-only">{t(statusKey(span.run.status))}</span>
                <span className="truncate">{titles.get(span.run.node_id) ?? span.run.node_id.slice(0, 8)}</span>
              </span>
              <span className="relative h-2.5 rounded-full bg-hover">
                <span
                  className="timeline-bar absolute inset-y-0 rounded-full"
                  data-tone={toneOf(span.run.status)}
                  style={{ left: `${span.start * 100}%`, width: `${span.width * 100}%` }}
                />
              </span>
              <span className="text-right text-xs text-quiet tabular-nums">
                {span.seconds !== null && format.span(span.seconds)}
              </span>
            </button>
          </li>
        ))}
      </ol>
    </section>
  );
}
