// Results about agents and blocks: search, details, validation.
import { Link } from 'wouter';
import { Icon } from '../../components/icons';
import { Badge, Notice } from '../../components/Pieces';
import { useT } from '../../i18n';
import { field, list, record, text, texts } from '../../api/looseValues';
import type { BodyProps } from './index';
import { hasRun, RunForm, type Runs } from './RunForm';

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

export function AgentLine({ agent }: { agent: unknown }) {
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
            {text(field(block, 'needs_credentials')) && (
              <Badge tone="attention">
                {t('card.needsCredentials', { provider: text(field(block, 'needs_credentials')) })}
              </Badge>
            )}
          </p>
          <p className="text-[13px] text-quiet">{text(field(block, 'description'))}</p>
          <p className="font-mono text-xs text-quiet">
            {Object.keys(record(field(block, 'inputs'))).join(', ')} →{' '}
            {Object.keys(record(field(block, 'outputs'))).join(', ')}
          </p>
        </li>
      ))}
    </ul>
  );
}

/** The inputs of an agent as a form. */
export function AgentDetails({ result, call, active }: BodyProps) {
  const t = useT();
  const name = text(field(result.agent, 'name'));
  return (
    <div className="flex flex-col gap-4">
      {result.agent !== undefined && <AgentLine agent={result.agent} />}
      <RunForm
        call={call}
        runs={agentIn(result.agent)}
        name={name}
        schema={record(result.input_schema)}
        action={t('agent.run')}
        active={active}
      />
    </div>
  );
}

/** The inputs of a block as a form. */
export function BlockDetails({ result, call, active }: BodyProps) {
  const t = useT();
  const name = text(field(result.block, 'name'));
  return (
    <div className="flex flex-col gap-4">
      <div>
        <p className="font-medium">{name}</p>
        <p className="text-[13px] text-quiet">{text(field(result.block, 'description'))}</p>
      </div>
      <RunForm
        call={call}
        runs={{ block: text(field(result.block, 'id')) }}
        name={name}
        schema={record(result.input_schema)}
        action={t('agent.run')}
        active={active}
      />
    </div>
  );
}

/** Invalid inputs as a form to correct them. */
export function InputProblems({ result, input, call, active }: BodyProps) {
  const t = useT();
  const block = text(field(input, 'block_id'));
  const problems = Object.fromEntries(
    Object.entries(record(result.problems)).map(([name, words]) => [name, text(words)]),
  );
  if (active || hasRun(call)) {
    return (
      <RunForm
        call={call}
        runs={block ? { block } : agentIn(input)}
        name=""
        schema={record(result.input_schema)}
        problems={problems}
        action={t('common.tryAgain')}
        active={active}
      />
    );
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

/** The agent in question: of the library, or of the store. */
function agentIn(value: unknown): Runs {
  return { agent: text(field(value, 'library_agent_id')), slug: text(field(value, 'username_agent_slug')) };
}

export function ValidationResult({ result }: BodyProps) {
  const t = useT();
  const problems = [...list(result.errors), ...list(result.warnings)].map(
    (problem) => text(field(problem, 'message')) || text(problem),
  );
  const fixes = texts(result.fixes);
  return (
    <div className="flex flex-col gap-3">
      <span>
        <Badge tone={result.valid === true ? 'good' : 'attention'}>
          {t(result.valid === true ? 'agents.valid' : 'agents.invalid')}
        </Badge>
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
