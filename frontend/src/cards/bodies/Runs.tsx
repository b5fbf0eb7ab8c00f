// Results about runs: executions, blocks, reviews, missing setup, schedules.
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { Link } from 'wouter';
import { useCannedReplies } from '../../chat/cannedReplies';
import { useConversationActions } from '../../chat/conversationActions';
import { Button } from '../../components/Button';
import { Icon } from '../../components/icons';
import { Badge } from '../../components/Pieces';
import { Progress } from '../../components/Progress';
import { useT } from '../../i18n';
import { useFormat } from '../../i18n/format';
import { field, list, record, text } from '../../api/looseValues';
import { type CredentialKind, libraryApi, type Review } from '../../library/api';
import { CredentialForm } from '../../library/CredentialForm';
import { OpenReviews } from '../../library/OpenReviews';
import { Outputs } from '../../library/Outputs';
import { ReviewCard } from '../../library/ReviewCard';
import { badgeOf, hasEnded, statusKey } from '../../library/status';
import { useExecution } from '../../library/useExecution';
import type { BodyProps } from './index';

/** A run in its current state, which may be newer than what the model saw. */
export function ExecutionBody({ result }: BodyProps) {
  const card = record(result.execution);
  const id = text(result.execution_id) || text(card.execution_id);
  if (!id) return <Scheduled result={result} />;
  return (
    <LiveExecution
      id={id}
      known={{
        status: text(result.status) || text(card.status),
        outputs: record(card.outputs) as Record<string, unknown[]>,
        error: text(card.error),
      }}
    />
  );
}

export type Known = { status: string; outputs: Record<string, unknown[]>; error: string };

export function LiveExecution({ id, known }: { id: string; known: Known }) {
  const t = useT();
  const { data } = useExecution(id);
  const status = data?.status ?? known.status;
  const badge = badgeOf({ status, rejected: data?.rejected });
  const runs = data?.nodes ?? [];
  const share = runs.length ? runs.filter((run) => hasEnded(run.status)).length / runs.length : null;
  const outputs = data?.outputs ?? known.outputs;
  const error = data?.error ?? known.error;
  return (
    <div className="flex flex-col gap-3">
      <div className="flex items-center gap-2">
        <Badge tone={badge.tone}>{t(badge.name)}</Badge>
        <span className="min-w-0 flex-1 truncate text-quiet">{data?.agent_name}</span>
        <Link href={`/library/runs/${id}`} className="link inline-flex items-center gap-1">
          {t('card.openRun')} <Icon name="right" size={14} />
        </Link>
      </div>
      {(status === 'RUNNING' || status === 'QUEUED') && (
        <Progress share={share} label={t(statusKey(status))} since={data?.queued_at} />
      )}
      {status === 'REVIEW' && <OpenReviews execution={id} />}
      {error && <p className="text-wrong">{error}</p>}
      {Object.keys(outputs).length > 0 && <Outputs outputs={outputs} />}
    </div>
  );
}

function Scheduled({ result }: { result: BodyProps['result'] }) {
  const t = useT();
  const format = useFormat();
  const next = text(result.next_run_at);
  return (
    <p className="flex flex-wrap items-center gap-x-2 gap-y-1">
      <Link href={text(result.library_agent_link) || '/library'} className="link font-medium">
        {text(result.agent_name)}
      </Link>
      <span className="text-quiet">
        {next ? `${t('schedules.next', { when: format.moment(next) })} ${format.ago(next)}` : text(result.cron)}
      </span>
      <Link href="/library/schedules" className="link ml-auto inline-flex items-center gap-1">
        {t('library.schedules')} <Icon name="right" size={14} />
      </Link>
    </p>
  );
}

/** A block that needs approval; after the decision the model is asked to continue. */
export function ReviewBody({ result, active }: BodyProps) {
  const { say } = useConversationActions();
  const cannedReply = useCannedReplies();
  const id = text(result.review_id);
  const { data, refetch } = useQuery({
    queryKey: ['review', id],
    queryFn: () => libraryApi.review(id),
    enabled: id !== '',
    retry: false,
  });
  const decided = (review: Review) => {
    void refetch();
    if (active && !result.operation_id)
      say(cannedReply(review.state === 'approved' ? 'say.approved' : 'say.rejected', { name: review.name }));
  };
  return data ? <ReviewCard review={data} onDecided={decided} /> : null;
}

/** Missing credentials, each as a form; once all are added, the model is asked to continue. */
export function SetupRequirements({ result, active }: BodyProps) {
  const t = useT();
  const { say } = useConversationActions();
  const cannedReply = useCannedReplies();
  const missing = list(result.missing_credentials).map((need) => ({
    provider: text(field(need, 'provider')),
    kind: text(field(need, 'type')) as CredentialKind | '',
    block: text(field(need, 'block')),
    note: text(field(need, 'note')),
  }));
  const [kept, setKept] = useState<ReadonlySet<string>>(new Set());
  return (
    <div className="flex flex-col gap-4">
      {missing.map((need) => (
        <section key={need.provider} className="rounded-xl border border-line p-4" aria-label={need.provider}>
          <p className="flex flex-wrap items-center gap-2 pb-3 font-medium">
            <Icon name="key" size={16} className="text-quiet" /> {need.provider}
            {need.block && <Badge>{need.block}</Badge>}
            {kept.has(need.provider) && <Badge tone="good">{t('card.kept')}</Badge>}
          </p>
          {need.note && <p className="pb-3 text-quiet">{need.note}</p>}
          {active && !kept.has(need.provider) && (
            <CredentialForm
              provider={need.provider}
              kinds={need.kind ? [need.kind] : undefined}
              onKept={() => setKept((all) => new Set([...all, need.provider]))}
            />
          )}
        </section>
      ))}
      {active && missing.every((need) => kept.has(need.provider)) && (
        <Button
          look="strong"
          icon="check"
          className="self-start"
          onClick={() => say(cannedReply('say.credentialsThere'))}
        >
          {t('card.goOn')}
        </Button>
      )}
    </div>
  );
}

export function BlockOutput({ result }: BodyProps) {
  const outputs = record(result.outputs ?? result.output);
  return <Outputs outputs={outputs as Record<string, unknown[]>} />;
}

export function ScheduleList({ result }: BodyProps) {
  const t = useT();
  return (
    <ul className="flex flex-col gap-2">
      {list(result.schedules).map((schedule, place) => (
        <li key={place} className="flex flex-wrap items-center gap-2">
          <Icon name="clock" size={16} className="text-quiet" />
          <Link href="/library/schedules" className="link font-medium">
            {text(field(schedule, 'name'))}
          </Link>
          <span className="text-quiet">{text(field(schedule, 'when')) || text(field(schedule, 'cron'))}</span>
          {field(schedule, 'enabled') === false && <Badge>{t('common.off')}</Badge>}
        </li>
      ))}
    </ul>
  );
}
