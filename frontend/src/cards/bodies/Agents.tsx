// Results about agents and blocks: found, described, checked, saved, shown.
import { useQuery } from '@tanstack/react-query';
import { lazy, Suspense, useMemo } from 'react';
import { Link } from 'wouter';
import { useTalkActions } from '../../chat/talk';
import { Button } from '../../components/Button';
import { Icon } from '../../components/icons';
import { Badge, Loading, Notice } from '../../components/Pieces';
import { readGraph } from '../../graph/model';
import { useT } from '../../i18n';
import { field, list, number, record, text, texts } from '../../lib/shape';
import { libraryApi, type Schema } from '../../library/api';
import { SchemaForm } from '../../library/SchemaForm';
import { useBlockNames } from '../../library/useBlockNames';
import type { BodyProps } from './index';

const GraphView = lazy(() => import('../../graph/GraphView'));

export function AgentList({ result }: BodyProps) {
  return (
    <ul className="flex flex-col gap-2">
      {list(result.agents).map((agent, place) => (
        <li key={place}>
          <AgentLine agent={agent} />
        </li>
      ))}
    </ul>
  );
}

function AgentLine({ agent }: { agent: unknown }) {
  const t = useT();
  const link = text(field(agent, 'link'));
  return (
    <div className="flex items-start gap-3">
      <span className="rounded-lg bg-accent-soft p-1.5 text-accent-text">
        <Icon name={field(agent, 'source') === 'store' ? 'store' : 'agent'} />
      </span>
      <div className="min-w-0 flex-1">
        <p className="flex flex-wrap items-center gap-2">
          <Link href={link || '/library'} className="link font-medium">
            {text(field(agent, 'name'))}
          </Link>
          {field(agent, 'can_run') === false && <Badge tone="attention">{t('agents.invalid')}</Badge>}
        </p>
        <p className="line-clamp-2 text-[13px] text-quiet">{text(field(agent, 'description'))}</p>
      </div>
    </div>
  );
}

export function BlockList({ result }: BodyProps) {
  const t = useT();
  return (
    <ul className="flex flex-col gap-3">
      {list(result.blocks).map((block, place) => (
        <li key={place}>
          <p className="flex flex-wrap items-center gap-2 font-medium">
            {text(field(block, 'name'))} <Badge>{text(field(block, 'category'))}</Badge>
            {text(field(block, 'needs_credentials')) && <Badge tone="attention">{t('card.needsCredentials', { provider: text(field(block, 'needs_credentials')) })}</Badge>}
          </p>
          <p className="text-[13px] text-quiet">{text(field(block, 'description'))}</p>
          <p className="font-mono text-xs text-quiet">
            {Object.keys(record(field(block, 'inputs'))).join(', ')} → {Object.keys(record(field(block, 'outputs'))).join(', ')}
          </p>
        </li>
      ))}
    </ul>
  );
}

/** What an agent takes, as a form; filled in, it goes back as a message. */
export function AgentDetails({ result, active }: BodyProps) {
  const t = useT();
  const { say } = useTalkActions();
  const name = text(field(result.agent, 'name'));
  return (
    <div className="flex flex-col gap-4">
      {result.agent !== undefined && <AgentLine agent={result.agent} />}
      {active && <SchemaForm schema={record(result.input_schema) as Schema} action={t('agent.run')} onSubmit={(values) => say(runWords(name, values))} />}
    </div>
  );
}

/** Which inputs were wrong, as the form to put them right. */
export function InputProblems({ result, active }: BodyProps) {
  const t = useT();
  const { say } = useTalkActions();
  const problems = Object.fromEntries(Object.entries(record(result.problems)).map(([name, words]) => [name, text(words)]));
  if (active) {
    return <SchemaForm schema={record(result.input_schema) as Schema} problems={problems} action={t('common.tryAgain')} onSubmit={(values) => say(runWords('', values))} />;
  }
  return (
    <ul className="list-inside list-disc">
      {Object.entries(problems).map(([name, words]) => (
        <li key={name}>
          <strong>{name}</strong> {words}
        </li>
      ))}
    </ul>
  );
}

/** The words the model is told, in the form every model understands. */
export function runWords(name: string, values: Record<string, unknown>): string {
  return `Run ${name ? `the ${name} agent` : 'it'} with ${JSON.stringify(values)}`;
}

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
      <GraphView graph={read} names={names} compact className="h-60" />
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

export function ValidationResult({ result }: BodyProps) {
  const t = useT();
  const problems = [...list(result.errors), ...list(result.warnings)].map((problem) => text(field(problem, 'message')) || text(problem));
  const fixes = texts(result.fixes);
  return (
    <div className="flex flex-col gap-3">
      <span>
        <Badge tone={result.valid === true ? 'good' : 'attention'}>{t(result.valid === true ? 'agents.valid' : 'agents.invalid')}</Badge>
      </span>
      {problems.length > 0 && (
        <Notice tone="attention" icon="warning">
          <ul className="list-inside list-disc">
            {problems.map((line, place) => (
              <li key={place}>{line}</li>
            ))}
          </ul>
        </Notice>
      )}
      {fixes.length > 0 && (
        <ul className="list-inside list-disc text-quiet">
          {fixes.map((line, place) => (
            <li key={place}>{line}</li>
          ))}
        </ul>
      )}
    </div>
  );
}
