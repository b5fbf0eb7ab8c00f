import { useQuery } from '@tanstack/react-query';
import { Link } from 'wouter';
import { Icon } from '../../components/icons';
import { Badge, type Tone } from '../../components/Pieces';
import { Progress } from '../../components/Progress';
import { type Key, useT } from '../../i18n';
import { api } from '../../lib/api';
import { useGathered } from '../../lib/queries';
import { text } from '../../lib/shape';
import type { BodyProps } from './index';

const STATES: Record<string, [Key, Tone]> = {
  queued: ['status.queued', 'calm'],
  running: ['status.running', 'busy'],
  idle: ['status.done', 'good'],
};

/** A session started from this one: how it is now, and the way into it. */
export function SubSession({ result }: BodyProps) {
  const t = useT();
  const id = text(result.sub_session_id);
  const { data, refetch } = useQuery({ queryKey: ['session', id], queryFn: () => api.session(id), enabled: id !== '' });
  useGathered((hint) => hint.session_id === id || hint.type === 'reconnected', () => void refetch());
  const [name, tone] = STATES[data?.status ?? 'idle'] ?? ['status.done', 'good'];
  const working = data !== undefined && data.status !== 'idle';
  const words = text(result.text) || text(result.response) || text(result.result);
  return (
    <div className="flex flex-col gap-3">
      <div className="flex items-center gap-2">
        {data && <Badge tone={tone}>{t(name)}</Badge>}
        <span className="min-w-0 flex-1 truncate">{data?.title || t('sessions.untitled')}</span>
        {id && (
          <Link href={`/c/${id}`} className="link inline-flex items-center gap-1">
            {t('card.openSession')} <Icon name="right" size={14} />
          </Link>
        )}
      </div>
      {working && <Progress label={t('status.running')} since={data.active_at} />}
      {words && <p className="line-clamp-6 rounded-lg bg-code px-3 py-2 whitespace-pre-wrap text-quiet">{words}</p>}
    </div>
  );
}
