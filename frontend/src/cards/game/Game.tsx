import { type KeyboardEvent, useEffect, useRef, useState } from 'react';
import { Button, IconButton } from '../../components/Button';
import { useT } from '../../i18n';
import { begin, type Heading, SIZE, step, turn } from './snake';

const PACE = 130; // ms per step
const KEYS: Record<string, Heading> = {
  ArrowUp: 'up',
  ArrowDown: 'down',
  ArrowLeft: 'left',
  ArrowRight: 'right',
  w: 'up',
  s: 'down',
  a: 'left',
  d: 'right',
};

/** Snake, with arrow keys or WASD. It is paused until the first key, and without focus. */
export default function Game({ onClose, waits }: { onClose: () => void; waits?: boolean }) {
  const t = useT();
  const [game, setGame] = useState(begin);
  const [moving, setMoving] = useState(false);
  const board = useRef<SVGSVGElement>(null);
  useEffect(() => {
    if (!waits) board.current?.focus();
  }, [waits]);
  useEffect(() => {
    if (!moving || game.over) return;
    const timer = window.setInterval(() => setGame((now) => step(now)), PACE);
    return () => window.clearInterval(timer);
  }, [moving, game.over]);
  const pressed = (event: KeyboardEvent) => {
    const heading = KEYS[event.key];
    if (event.key === 'Escape') return onClose();
    if (!heading) return;
    event.preventDefault();
    setMoving(true);
    setGame((now) => turn(now, heading));
  };
  const again = () => {
    setGame(begin());
    setMoving(false);
    board.current?.focus();
  };
  return (
    <div className="flex w-fit flex-col gap-2">
      <div className="flex items-center gap-2">
        <span className="flex-1 text-[13px] text-quiet" role="status">
          {game.over
            ? t('game.over', { score: game.score })
            : t(moving ? 'game.score' : 'game.how', { score: game.score })}
        </span>
        {game.over && (
          <Button small onClick={again}>
            {t('game.again')}
          </Button>
        )}
        <IconButton icon="close" size="small" label={t('common.close')} onClick={onClose} />
      </div>
      <svg
        ref={board}
        viewBox={`0 0 ${SIZE} ${SIZE}`}
        className="size-64 rounded-xl bg-code"
        tabIndex={0}
        role="application"
        aria-label={t('game.name')}
        onKeyDown={pressed}
        onBlur={() => setMoving(false)}
      >
        {game.snake.map((cell, place) => (
          <rect
            key={place}
            x={cell.x + 0.06}
            y={cell.y + 0.06}
            width={0.88}
            height={0.88}
            rx={0.3}
            fill="var(--color-accent)"
            opacity={place ? 0.75 : 1}
          />
        ))}
        <circle cx={game.food.x + 0.5} cy={game.food.y + 0.5} r={0.38} fill="var(--color-wrong)" />
      </svg>
    </div>
  );
}
