import { useQuery } from '@tanstack/react-query';
import { lazy, Suspense, useMemo, useState } from 'react';
import { Link } from 'wouter';
import { Button } from '../components/Button';
import { Icon } from '../components/icons';
import { Badge, Failed, Loading, Notice } from '../components/Pieces';
import { Tabs } from '../components/Tabs';
import { readGraph } from '../graph/model';
import { useT } from '../i18n';
import { queryClient } from '../api/queries';
import { toast } from '../app/toasts';
import { errorText } from '../api/errorText';
import { More, Run } from './AgentActions';
import { type AgentDetail, libraryApi } from './api';
import { ExecutionList } from './Executions';
import { NodePanel } from './NodePanel';
import { Heading, useAttempt } from './Screen';
import { useBlockNames } from './useBlockNames';
import { Versions } from './Versions';

const GraphView = lazy(() => import('../graph/GraphView'));

export function AgentPage({ id }: { id: string }) {
  const t = useT();
  const { data, error, refetch } = useQuery({ queryKey: ['agent', id], queryFn: () => libraryApi.agent(id) });
  if (error) return <Failed words={errorText(error, t)} onRetry={() => void refetch()} />;
  if (!data) return <Loading />;
  return <Shown agent={data} />;
}

function Shown({ agent }: { agent: AgentDetail }) {
  const t = useT();
  const names = useBlockNames();
  const [chosen, setChosen] = useState<string | null>(null);
  const graph = useMemo(() => readGraph(agent.graph), [agent.graph]);
  const tabs = [
    {
      id: 'graph',
      label: t('agent.graph'),
      content: (
        <div className="flex flex-col gap-4">
          <Problems agent={agent} />
          <Suspense fallback={<Loading />}>
            <GraphView graph={graph} names={names} chosen={chosen} onChoose={setChosen} />
          </Suspense>
          {chosen ? (
            <NodePanel graph={graph} node={chosen} names={names} />
          ) : (
            <p className="text-sm text-quiet">{t('node.hint')}</p>
          )}
        </div>
      ),
    },
    { id: 'runs', label: t('library.runs'), content: <ExecutionList agent={agent.id} /> },
    { id: 'versions', label: t('agent.versions'), content: <Versions agent={agent} /> },
  ];
  return (
    <>
      <Link href="/library" className="inline-flex items-center gap-1 pb-3 text-sm text-quiet hover:text-ink">
        <Icon name="left" size={14} /> {t('library.agents')}
      </Link>
      <Heading
        title={agent.name}
        about={
          <>
            <p className="max-w-2xl pb-2">{agent.description || t('agents.noDescription')}</p>
            <span className="flex flex-wrap gap-2">
              <Badge>{t('agents.version', { version: agent.version })}</Badge>
              <Badge tone={agent.valid ? 'good' : 'attention'}>
                {t(agent.valid ? 'agents.valid' : 'agents.invalid')}
              </Badge>
            </span>
          </>
        }
      >
        <Run agent={agent} />
        <Link
          href={`/library/agents/${agent.id}/edit`}
          className="inline-flex h-9 items-center gap-2 rounded-lg border border-line bg-card px-3.5 text-sm font-medium shadow-xs hover:bg-hover"
        >
          <Icon name="graph" size={17} /> {t('agent.openBuilder')}
        </Link>
        <More agent={agent} />
      </Heading>
      <Tabs tabs={tabs} base={`/library/agents/${agent.id}`} label={agent.name} />
    </>
  );
}

function Problems({ agent }: { agent: AgentDetail }) {
  const t = useT();
  const attempt = useAttempt();
  const [repairs, setRepairs] = useState<string[]>([]);
  const { errors, warnings } = agent.validation;
  const fix = async () => {
    const done = await attempt(libraryApi.fix(agent.id));
    if (done?.changed) setRepairs(done.fixes.map((repair) => repair.message));
    else if (done) toast(t('agent.notFixed'));
    await queryClient.invalidateQueries({ queryKey: ['agent', agent.id] });
  };
  return (
    <>
      {repairs.length > 0 && (
        <Notice tone="good" icon="check">
          <p className="font-medium">{t('agent.fixed', { count: repairs.length })}</p>
          <Sentences of={repairs} />
        </Notice>
      )}
      {errors.length + warnings.length > 0 && (
        <Notice
          tone="attention"
          icon="warning"
          action={
            errors.length > 0 && (
              <Button small onClick={() => void fix()}>
                {t('agent.fix')}
              </Button>
            )
          }
        >
          <Sentences of={[...errors, ...warnings].map((problem) => problem.message)} />
        </Notice>
      )}
    </>
  );
}

function Sentences({ of }: { of: string[] }) {
  return (
    <ul className="list-inside list-disc">
      {of.map((sentence, place) => (
        <li key={place}>{sentence}</li>
      ))}
    </ul>
  );
}
