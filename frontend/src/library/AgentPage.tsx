import { useQuery } from '@tanstack/react-query';
import { lazy, Suspense, useMemo, useState } from 'react';
import { Link, useLocation } from 'wouter';
import { Button, IconButton } from '../components/Button';
import { Confirm, Dialog } from '../components/Dialog';
import { Icon } from '../components/icons';
import { Menu } from '../components/Menu';
import { Badge, Failed, Loading, Notice } from '../components/Pieces';
import { Tabs } from '../components/Tabs';
import { readGraph } from '../graph/model';
import { useT } from '../i18n';
import { ApiError } from '../lib/http';
import { newId } from '../lib/ids';
import { queryClient } from '../lib/queries';
import { toast } from '../lib/toasts';
import { inWords } from '../lib/words';
import { type AgentDetail, libraryApi } from './api';
import { ExecutionList } from './Executions';
import { NewSchedule } from './NewSchedule';
import { NewTrigger } from './NewTrigger';
import { problemsIn } from './schema';
import { SchemaForm } from './SchemaForm';
import { Heading, useAttempt } from './Screen';
import { useBlockNames } from './useBlockNames';
import { Versions } from './Versions';

const GraphView = lazy(() => import('../graph/GraphView'));

export function AgentPage({ id }: { id: string }) {
  const t = useT();
  const { data, error, refetch } = useQuery({ queryKey: ['agent', id], queryFn: () => libraryApi.agent(id) });
  if (error) return <Failed words={inWords(error, t)} onRetry={() => void refetch()} />;
  if (!data) return <Loading />;
  return <Shown agent={data} />;
}

function Shown({ agent }: { agent: AgentDetail }) {
  const t = useT();
  const names = useBlockNames();
  const graph = useMemo(() => readGraph(agent.graph), [agent.graph]);
  const tabs = [
    {
      id: 'graph',
      label: t('agent.graph'),
      content: (
        <div className="flex flex-col gap-4">
          <Problems agent={agent} />
          <Suspense fallback={<Loading />}>
            <GraphView graph={graph} names={names} className="h-[28rem]" />
          </Suspense>
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
              <Badge tone={agent.valid ? 'good' : 'attention'}>{t(agent.valid ? 'agents.valid' : 'agents.invalid')}</Badge>
            </span>
          </>
        }
      >
        <Run agent={agent} />
        <More agent={agent} />
      </Heading>
      <Tabs tabs={tabs} label={agent.name} />
    </>
  );
}

function Problems({ agent }: { agent: AgentDetail }) {
  const t = useT();
  const attempt = useAttempt();
  const { errors, warnings } = agent.validation;
  if (errors.length + warnings.length === 0) return null;
  const fix = async () => {
    const done = await attempt(libraryApi.fix(agent.id));
    if (done) toast(done.changed ? t('agent.fixed', { count: done.fixes.length }) : t('agent.notFixed'));
    await queryClient.invalidateQueries({ queryKey: ['agent', agent.id] });
  };
  return (
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
      <ul className="list-inside list-disc">
        {[...errors, ...warnings].map((problem, place) => (
          <li key={place}>{problem.message}</li>
        ))}
      </ul>
    </Notice>
  );
}

/** The form made from what the agent takes; the same wish twice is one run. */
function Run({ agent }: { agent: AgentDetail }) {
  const t = useT();
  const [, go] = useLocation();
  const [wish, setWish] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);
  const [problems, setProblems] = useState<Record<string, string>>({});
  const run = async (values: Record<string, unknown>) => {
    setBusy(true);
    setProblems({});
    try {
      const started = await libraryApi.execute(agent.id, values, wish!);
      go(`/library/runs/${started.id}`);
    } catch (error) {
      const fields = error instanceof ApiError ? problemsIn(error.fields) : {};
      setProblems(Object.keys(fields).length ? fields : { '': inWords(error, t) });
    }
    setBusy(false);
  };
  return (
    <>
      <Button look="strong" icon="play" disabled={!agent.valid} onClick={() => setWish(newId())}>
        {t('agent.run')}
      </Button>
      <Dialog open={wish !== null} onClose={() => setWish(null)} title={t('agent.runTitle', { name: agent.name })}>
        <SchemaForm schema={agent.input_schema} action={t('agent.run')} busy={busy} problems={problems} onSubmit={(values) => void run(values)} />
      </Dialog>
    </>
  );
}

function More({ agent }: { agent: AgentDetail }) {
  const t = useT();
  const [, go] = useLocation();
  const [open, setOpen] = useState<'delete' | 'schedule' | 'trigger' | null>(null);
  const attempt = useAttempt();
  const remove = async () => {
    await attempt(libraryApi.removeAgent(agent.id));
    await queryClient.invalidateQueries({ queryKey: ['agents'] });
    go('/library');
  };
  const publish = async () => {
    const listing = await attempt(libraryApi.publish(agent.id));
    if (listing) toast(t('agent.published', { name: `${listing.username}/${listing.slug}` }));
  };
  const close = () => setOpen(null);
  return (
    <>
      <Menu
        trigger={<IconButton icon="more" look="plain" label={t('agent.more')} />}
        entries={[
          { label: t('agent.schedule'), icon: 'clock', onSelect: () => setOpen('schedule') },
          { label: t('agent.trigger'), icon: 'bolt', onSelect: () => setOpen('trigger') },
          'line',
          { label: t('agent.export'), icon: 'download', href: libraryApi.exportUrl(agent.id), download: true },
          { label: t('agent.publish'), icon: 'store', onSelect: () => void publish() },
          'line',
          { label: t('agent.delete'), icon: 'trash', danger: true, onSelect: () => setOpen('delete') },
        ]}
      />
      {open === 'schedule' && <NewSchedule agent={agent} onClose={close} />}
      {open === 'trigger' && <NewTrigger agent={agent} onClose={close} />}
      <Confirm open={open === 'delete'} onClose={close} onConfirm={() => void remove()} title={t('agent.deleteTitle')} about={t('agent.deleteAbout', { name: agent.name })} action={t('agent.delete')} />
    </>
  );
}
