import { useQuery } from '@tanstack/react-query';
import { Link } from 'wouter';
import { Icon } from '../../components/icons';
import { Badge, type Tone } from '../../components/Pieces';
import { Progress } from '../../components/Progress';
import { type Key, useT } from '../../i18n';
import { api } from '../../api/chat';
import { useGathered } from '../../api/queries';
import { text } from '../../api/looseValues';
import type { SessionDetail } from '../../api/types';
import { endingText } from '../../api/errorText';
import type { Result } from '../call';
import type { BodyProps } from './index';

const STATES: Record<string, [Key, Tone]> = {
  queued: ['status.queued', 'calm'],
  running: ['status.running', 'busy'],
  completed: ['status.done', 'good'],
  failed: ['status.failed', 'wrong'],
  cancelled: ['status.cancelled', 'calm'],
};

/** A session started from this one: its current state, and a link to it. */
export function SubSession({ result }: BodyProps<'sub_session_status'>) {
  const t = useT();
  const id = text(result.sub_session_id);
  const { data, refetch } = useQuery({ queryKey: ['session', id], queryFn: () => api.session(id), enabled: id !== '' });
  useGathered(
    (hint) => hint.session_id === id || hint.type === 'reconnected',
    () => void refetch(),
  );
  const { working, status, error } = endOf(result, data);
  const [name, tone] = STATES[status] ?? ['status.running', 'busy'];
  const words = text(result.response);
  return (
    <div className="flex flex-col gap-3">
      <div className="flex items-center gap-2">
        {(data || !working) && <Badge tone={tone}>{t(name)}</Badge>}
        <span className="min-w-0 flex-1 truncate">{data?.title || t('sessions.untitled')}</span>
        {id && (
          <Link href={`/c/${id}`} className="link inline-flex items-center gap-1">
            {t('card.openSession')} <Icon name="right" size={14} />
          </Link>
        )}
      </div>
      {working && data && <Progress label={t('status.running')} since={data.active_at} />}
      {status === 'failed' && (
        <p className="break-words text-wrong">
          {endingText(error.reason, error.said, t) || t('ending.internal_error')}
        </p>
      )}
      {words && <p className="line-clamp-6 rounded-lg bg-code px-3 py-2 whitespace-pre-wrap text-quiet">{words}</p>}
    </div>
  );
}

const ENDED = new Set(['completed', 'failed', 'cancelled']);

/** The state of its task: as the model saw it, unless the session has continued since. */
function endOf(result: Result, session: SessionDetail | undefined) {
  const told = text(result.status);
  const answer = session?.messages.findLast(
    ({ role, metadata }) => role === 'assistant' && metadata?.turn_id === text(result.turn_id),
  )?.metadata;
  const known = ENDED.has(told) ? told : ENDED.has(answer?.status ?? '') ? answer!.status! : '';
  const working = !known && session?.status !== 'idle';
  const status = known || (session?.status === 'idle' ? 'completed' : (session?.status ?? told));
  return { working, status, error: { reason: answer?.end_reason, said: text(result.error) || answer?.error } };
}
