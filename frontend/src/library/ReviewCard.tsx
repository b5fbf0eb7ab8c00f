import { useState } from 'react';
import { Link } from 'wouter';
import { Button } from '../components/Button';
import { TextArea, TextField } from '../components/Field';
import { Ago, Badge, Raw, type Tone } from '../components/Pieces';
import { type Key, useT } from '../i18n';
import { queryClient } from '../api/queries';
import { libraryApi, type Remember, type Review } from './api';
import { useAttempt } from './Screen';

const STATES: Record<Review['state'], [Key, Tone]> = {
  waiting: ['review.waiting', 'attention'],
  approved: ['review.approved', 'good'],
  rejected: ['review.rejected', 'wrong'],
  expired: ['review.expired', 'calm'],
  withdrawn: ['review.withdrawn', 'calm'],
};

// The tools that ask for approval; nodes and blocks ask under the name the user gave them.
export const QUESTIONS: Partial<Record<string, Key>> = {
  add_understanding: 'review.add_understanding',
  create_feature_request: 'review.create_feature_request',
  delete_schedule: 'review.delete_schedule',
  delete_workspace_file: 'review.delete_workspace_file',
  run_agent: 'review.run_agent',
  web_fetch: 'review.web_fetch',
};

/** A review: its data, editable if allowed, and the buttons to approve and reject. */
export function ReviewCard({
  review,
  inRun,
  onDecided,
}: {
  review: Review;
  inRun?: boolean;
  onDecided?: (review: Review) => void;
}) {
  const t = useT();
  const [name, tone] = STATES[review.state];
  const known = review.agent_name ? undefined : QUESTIONS[review.name];
  const asked = review.tool_name ? t('review.callTool', { name: review.tool_name }) : review.name;
  const question = known ? t(known) : asked;
  return (
    <section className="panel flex flex-col gap-3 p-4 text-sm" aria-label={question}>
      <div className="flex flex-wrap items-center gap-2">
        <Badge tone={tone}>{t(name)}</Badge>
        <span className="min-w-0 font-medium break-words max-sm:order-last max-sm:basis-full sm:flex-1">
          {question}
        </span>
        <span className="ml-auto text-[13px] text-quiet">
          <Ago when={review.asked_at} />
        </span>
      </div>
      {!inRun && review.agent_name && review.execution_id && (
        <Link href={`/library/runs/${review.execution_id}`} className="link w-fit text-[13px]">
          {review.agent_name}
        </Link>
      )}
      {review.outside_sources.length > 0 && (
        <p className="text-quiet break-words">{t('review.outside', { sources: review.outside_sources.join(', ') })}</p>
      )}
      {review.state === 'waiting' ? <Decide review={review} onDecided={onDecided} /> : <Raw value={review.data} />}
      {review.message && <p className="text-quiet">{review.message}</p>}
    </section>
  );
}

function Decide({ review, onDecided }: { review: Review; onDecided?: (review: Review) => void }) {
  const t = useT();
  const plain = typeof review.data === 'string';
  const before = plain ? String(review.data) : JSON.stringify(review.data, null, 2);
  const [data, setData] = useState(before);
  const [message, setMessage] = useState('');
  const [wrong, setWrong] = useState(false);
  const [busy, setBusy] = useState(false);
  const attempt = useAttempt();
  const decide = async (approved: boolean, remember: Remember = '') => {
    let changed: { data?: unknown } = {};
    if (approved && review.editable && data !== before) {
      try {
        changed = { data: plain ? data : (JSON.parse(data) as unknown) };
      } catch {
        return setWrong(true);
      }
    }
    setBusy(true);
    const decided = await attempt(libraryApi.decide(review.id, { approved, message, remember, ...changed }));
    setBusy(false);
    await queryClient.invalidateQueries({ queryKey: ['reviews'] });
    await queryClient.invalidateQueries({ queryKey: ['review', review.id] });
    if (decided) onDecided?.(decided);
  };
  return (
    <>
      {review.editable ? (
        <TextArea
          label={t('review.data')}
          className={plain ? undefined : 'font-mono text-xs'}
          value={data}
          problem={wrong ? t('form.noJson') : undefined}
          onChange={(event) => setData(event.target.value)}
        />
      ) : (
        <Raw value={review.data} />
      )}
      <TextField label={t('review.message')} value={message} onChange={(event) => setMessage(event.target.value)} />
      <div className="flex flex-wrap gap-2">
        <Button look="strong" icon="check" busy={busy} onClick={() => void decide(true)}>
          {t('review.approve')}
        </Button>
        {review.tool_name && (
          <>
            {review.session_id && (
              <Button busy={busy} onClick={() => void decide(true, 'session')}>
                {t('review.approveSession')}
              </Button>
            )}
            <Button busy={busy} onClick={() => void decide(true, 'always')}>
              {t('review.approveAlways')}
            </Button>
          </>
        )}
        <Button icon="close" busy={busy} onClick={() => void decide(false)}>
          {t('review.reject')}
        </Button>
      </div>
    </>
  );
}
