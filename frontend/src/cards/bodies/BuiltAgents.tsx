// Built agents: saved or previewed, with their graphs.
import { useQuery } from '@tanstack/react-query';
import { lazy, Suspense, useEffect, useMemo, useRef, useState } from 'react';
import { Link } from 'wouter';
import { useCannedReplies } from '../../chat/cannedReplies';
import { useConversationActions } from '../../chat/conversationActions';
import { Button } from '../../components/Button';
import { Icon } from '../../components/icons';
import { Badge, Failed, Loading } from '../../components/Pieces';
import { readGraph } from '../../graph/model';
import { useT } from '../../i18n';
import { list, number, record, text, texts } from '../../api/looseValues';
import { errorText } from '../../api/errorText';
import { libraryApi } from '../../library/api';
import { useBlockNames } from '../../library/useBlockNames';
import { AgentLine } from './Agents';
import type { BodyProps } from './index';
import { hasRun, RunForm } from './RunForm';

const GraphView = lazy(() => import('../../graph/GraphView'));

export function AgentSaved({ result, call, active }: BodyProps) {
  const t = useT();
  const { say } = useConversationActions();
  const cannedReply = useCannedReplies();
  const [filling, setFilling] = useState(() => hasRun(call));
  const takesSomething = Object.keys(record(result.inputs)).length > 0;
  const id = text(result.library_agent_id) || text(result.agent_id);
  const version = number(result.version) ?? 1;
  const { data, isPending } = useQuery({
    queryKey: ['agent', id, 'version', version],
    queryFn: () => libraryApi.version(id, version),
    enabled: id !== '',
    staleTime: Infinity,
    retry: false,
  });
  return (
    <div className="flex flex-col gap-3">
      <p className="flex flex-wrap items-center gap-2">
        <Link href={text(result.library_agent_link) || `/library/agents/${id}`} className="link font-medium">
          {text(result.agent_name)}
        </Link>
        <Badge>{t('agents.version', { version })}</Badge>
      </p>
      {data ? <Drawn graph={data.graph} /> : isPending && id && <Drawing />}
      <Notes result={result} />
      <SimilarAgents result={result} />
      <div className="flex flex-wrap gap-2">
        <Link
          href={`/library/agents/${id}`}
          className="inline-flex h-8 items-center gap-2 rounded-lg border border-line bg-card px-3 text-[13px] font-medium hover:bg-hover"
        >
          <Icon name="open" size={15} /> {t('card.openAgent')}
        </Link>
        <Link
          href={`/library/agents/${id}/edit`}
          className="inline-flex h-8 items-center gap-2 rounded-lg border border-line bg-card px-3 text-[13px] font-medium hover:bg-hover"
        >
          <Icon name="graph" size={15} /> {t('agent.openBuilder')}
        </Link>
        {active && !filling && (
          <Button
            small
            look="strong"
            icon="play"
            onClick={() => (takesSomething ? setFilling(true) : say(cannedReply('say.runIt')))}
          >
            {t('agent.run')}
          </Button>
        )}
      </div>
      {filling && <Filling agent={id} call={call} active={active} />}
    </div>
  );
}

/** The input form of a saved agent. The result has only a summary of the inputs; the agent says which are secret. */
function Filling({ agent, call, active }: { agent: string; call: string; active: boolean }) {
  const t = useT();
  const form = useRef<HTMLElement>(null);
  const { data, error, refetch } = useQuery({ queryKey: ['agent', agent], queryFn: () => libraryApi.agent(agent) });
  useEffect(() => form.current?.querySelector('input')?.focus(), [data]);
  if (error) return <Failed words={errorText(error, t)} onRetry={() => void refetch()} />;
  if (!data) return <Loading />;
  return (
    <section ref={form} aria-label={t('outcome.agent_details')} className="rounded-xl border border-line p-4">
      <RunForm
        call={call}
        runs={{ agent, slug: '' }}
        name=""
        schema={data.input_schema}
        action={t('agent.run')}
        active={active}
      />
    </section>
  );
}

export function AgentPreview({ result, active }: BodyProps) {
  const t = useT();
  const { say } = useConversationActions();
  const cannedReply = useCannedReplies();
  return (
    <div className="flex flex-col gap-3">
      <div>
        <p className="font-medium">{text(result.agent_name)}</p>
        <p className="text-quiet">{text(result.description)}</p>
      </div>
      <Drawn graph={result.agent_json} />
      <Notes result={result} />
      <SimilarAgents result={result} />
      {active && (
        <Button look="strong" icon="check" className="self-start" onClick={() => say(cannedReply('say.saveIt'))}>
          {t('card.saveAgent')}
        </Button>
      )}
    </div>
  );
}

/** The placeholder of a graph that is loading. */
function Drawing() {
  return (
    <div className="flex h-46 items-center justify-center rounded-xl border border-line bg-side">
      <Loading />
    </div>
  );
}

function Drawn({ graph }: { graph: unknown }) {
  const names = useBlockNames();
  const read = useMemo(() => readGraph(graph), [graph]);
  if (read.nodes.length === 0) return null;
  return (
    <Suspense fallback={<Drawing />}>
      <GraphView graph={read} names={names} compact />
    </Suspense>
  );
}

/** Agents that may do the same already. */
function SimilarAgents({ result }: { result: BodyProps['result'] }) {
  const t = useT();
  const agents = list(result.similar_agents);
  if (agents.length === 0) return null;
  return (
    <div className="flex flex-col gap-2">
      <p className="text-[13px] text-quiet">{t('card.similarAgents')}</p>
      <ul className="flex flex-col gap-2">
        {agents.map((agent, place) => (
          <li key={place}>
            <AgentLine agent={agent} />
          </li>
        ))}
      </ul>
    </div>
  );
}

function Notes({ result }: { result: BodyProps['result'] }) {
  const lines = [...texts(result.fixes), ...texts(result.notes)];
  if (lines.length === 0) return null;
  return (
    <ul className="list-inside list-disc text-[13px] text-quiet">
      {lines.map((line) => (
        <li key={line}>{line}</li>
      ))}
    </ul>
  );
}
