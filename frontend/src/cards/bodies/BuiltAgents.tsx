// Agents that were built: saved, or only shown, with the graph drawn.
import { useQuery } from '@tanstack/react-query';
import { lazy, Suspense, useMemo } from 'react';
import { Link } from 'wouter';
import { useTalkActions } from '../../chat/talk';
import { Button } from '../../components/Button';
import { Icon } from '../../components/icons';
import { Badge, Loading } from '../../components/Pieces';
import { readGraph } from '../../graph/model';
import { useT } from '../../i18n';
import { number, text, texts } from '../../lib/shape';
import { libraryApi } from '../../library/api';
import { useBlockNames } from '../../library/useBlockNames';
import type { BodyProps } from './index';

const GraphView = lazy(() => import('../../graph/GraphView'));

export function AgentSaved({ result, active }: BodyProps) {
  const t = useT();
  const { say } = useTalkActions();
  const id = text(result.library_agent_id) || text(result.agent_id);
  const version = number(result.version) ?? 1;
  const { data } = useQuery({
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
      {data && <Drawn graph={data.graph} />}
      <Notes result={result} />
      <div className="flex flex-wrap gap-2">
        <Link href={`/library/agents/${id}`} className="inline-flex h-8 items-center gap-2 rounded-lg border border-line bg-card px-3 text-[13px] font-medium hover:bg-hover">
          <Icon name="open" size={15} /> {t('card.openAgent')}
        </Link>
        {active && (
          <Button small look="strong" icon="play" onClick={() => say('Run it')}>
            {t('agent.run')}
          </Button>
        )}
      </div>
    </div>
  );
}

export function AgentPreview({ result, active }: BodyProps) {
  const t = useT();
  const { say } = useTalkActions();
  return (
    <div className="flex flex-col gap-3">
      <div>
        <p className="font-medium">{text(result.agent_name)}</p>
        <p className="text-quiet">{text(result.description)}</p>
      </div>
      <Drawn graph={result.agent_json} />
      <Notes result={result} />
      {active && (
        <Button look="strong" icon="check" className="self-start" onClick={() => say('Save it')}>
          {t('card.saveAgent')}
        </Button>
      )}
    </div>
  );
}

function Drawn({ graph }: { graph: unknown }) {
  const names = useBlockNames();
  const read = useMemo(() => readGraph(graph), [graph]);
  if (read.nodes.length === 0) return null;
  return (
    <Suspense fallback={<Loading />}>
      <GraphView graph={read} names={names} compact className="h-72 sm:h-60" />
    </Suspense>
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
