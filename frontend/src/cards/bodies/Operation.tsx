import { lazy, Suspense, useEffect, useState } from 'react';
import { Button, IconButton } from '../../components/Button';
import { classes } from '../../components/classes';
import { Badge, Failed, type Tone } from '../../components/Pieces';
import { Progress } from '../../components/Progress';
import { type Key, useT } from '../../i18n';
import { api } from '../../api/chat';
import { hasEnded, useOperation } from '../../live/operations';
import { text } from '../../api/looseValues';
import { toast } from '../../app/toasts';
import type { Operation } from '../../api/types';
import { errorText } from '../../api/errorText';
import { labelOf } from '../tools';
import type { BodyProps } from './index';

const Game = lazy(() => import('../game/Game'));
const LONG = 8_000; // ms of work after which a game is offered

/** A long-running operation; it may have ended long before this is shown. */
export function OperationBody({ result }: BodyProps) {
  const t = useT();
  const { data, error, refetch } = useOperation(text(result.operation_id));
  if (data) return <OperationState operation={data} />;
  return error ? (
    <Failed words={errorText(error, t)} onRetry={() => void refetch()} />
  ) : (
    <Progress label={t('common.loading')} />
  );
}

const STATES: Record<string, [Key, Tone]> = {
  queued: ['operation.queued', 'calm'],
  running: ['operation.running', 'busy'],
  waiting: ['operation.waiting', 'busy'],
  completed: ['operation.completed', 'good'],
  failed: ['operation.failed', 'wrong'],
  cancelled: ['operation.cancelled', 'calm'],
};

export function OperationState({ operation }: { operation: Operation }) {
  const t = useT();
  const [name, tone] = STATES[operation.status] ?? ['operation.running', 'busy'];
  const ended = hasEnded(operation.status);
  const cancel = () => api.cancelOperation(operation.id).catch((error: unknown) => toast(errorText(error, t), 'wrong'));
  return (
    <div className="flex flex-col gap-3">
      <div className="flex items-center gap-2">
        <Badge tone={tone}>{t(name)}</Badge>
        <span className="min-w-0 flex-1 truncate text-quiet">{!operation.error && operation.message}</span>
        {!ended && <IconButton icon="close" size="small" label={t('operation.cancel')} onClick={() => void cancel()} />}
      </div>
      {operation.error && (
        <p className={classes('break-words', operation.status === 'failed' ? 'text-wrong' : 'text-quiet')}>
          {operation.error}
        </p>
      )}
      {!ended && (
        <>
          <Progress
            share={operation.progress}
            label={labelOf(operation.tool_name, false, t)}
            since={operation.queued_at}
          />
          <p className="text-[13px] text-quiet">{t('operation.about')}</p>
          <Pastime since={operation.queued_at} />
        </>
      )}
    </div>
  );
}

/** A game, offered when the operation takes a while. */
function Pastime({ since }: { since: string }) {
  const t = useT();
  const [long, setLong] = useState(false);
  const [playing, setPlaying] = useState(false);
  useEffect(() => {
    const timer = window.setTimeout(() => setLong(true), Math.max(0, LONG - (Date.now() - new Date(since).getTime())));
    return () => window.clearTimeout(timer);
  }, [since]);
  if (!long) return null;
  if (!playing) {
    return (
      <Button small icon="game" className="self-start" onClick={() => setPlaying(true)}>
        {t('game.offer')}
      </Button>
    );
  }
  return (
    <Suspense fallback={null}>
      <Game onClose={() => setPlaying(false)} />
    </Suspense>
  );
}
