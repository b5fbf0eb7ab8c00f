import {
  type ReactNode,
  type Ref,
  type SyntheticEvent,
  useEffect,
  useImperativeHandle,
  useLayoutEffect,
  useRef,
  useState,
} from 'react';
import { IconButton, Spinner } from '../components/Button';
import { useT } from '../i18n';

const NEAR = 32; // pixels from the end that still are the end
const AHEAD = '600px 0px 0px 0px'; // older messages are fetched before their place comes into view
const OPENING = 1000; // ms in which what grows is what the person just opened
const MOVING = 1000; // ms in which what scrolls is what the person just moved

export type ThreadHandle = { toEnd: () => void };

type Props = {
  ref?: Ref<ThreadHandle>;
  count: number;
  firstKey: string;
  hasOlder: boolean;
  onOlder: () => Promise<void>;
  children: ReactNode;
};

/**
 * The messages in a column that follows the newest words while one is at the end, and stays put when one is not. Only
 * going up is leaving the end: what grows below (words, a graph that is drawn late) is followed.
 */
export function Thread({ ref, count, firstKey, hasOlder, onOlder, children }: Props) {
  const t = useT();
  const box = useRef<HTMLDivElement>(null);
  const content = useRef<HTMLDivElement>(null);
  const follow = useRef(true);
  const fromEnd = useRef(0);
  const top = useRef(0);
  const height = useRef(0);
  const opened = useRef(0);
  const moved = useRef(0);
  const wanted = useRef(0); // when the person last asked for the end
  const [away, setAway] = useState(false);

  const toEnd = () => {
    follow.current = true;
    const found = box.current;
    if (!found) return;
    found.scrollTop = found.scrollHeight;
    top.current = found.scrollTop;
    height.current = found.scrollHeight;
  };
  const backToEnd = () => {
    wanted.current = Date.now();
    toEnd();
  };
  useImperativeHandle(ref, () => ({ toEnd: backToEnd }));
  const settle = (following: boolean) => {
    follow.current = following;
    setAway(!following);
  };
  const scrolled = () => {
    const found = box.current;
    if (!found) return;
    fromEnd.current = found.scrollHeight - found.scrollTop;
    if (fromEnd.current - found.clientHeight < NEAR) settle(true);
    else if (found.scrollTop < top.current) {
      if (byPerson(found)) settle(false);
      else if (follow.current) toEnd();
    }
    top.current = found.scrollTop;
    height.current = found.scrollHeight;
  };
  // Content that shrinks and grows again also scrolls, and so does a smooth scroll that was already under way.
  const byPerson = (found: HTMLElement) =>
    isMoving() || (found.scrollHeight === height.current && Date.now() - wanted.current > MOVING);
  const isMoving = () => moved.current > wanted.current && Date.now() - moved.current < MOVING;
  const moves = () => {
    moved.current = Date.now();
  };
  const touched = (event: SyntheticEvent) => {
    if ((event.target as Element).closest('summary, [aria-expanded]')) opened.current = Date.now();
  };
  const grown = () => {
    scrolled(); // somebody may have scrolled since: browsers tell of it late
    if (!follow.current) return;
    if (Date.now() - opened.current > OPENING) toEnd();
    else settle(false);
  };
  const latestGrown = useRef(grown);
  latestGrown.current = grown;

  // Something was inserted above the reading position: keep the position.
  useLayoutEffect(() => {
    if (box.current && !follow.current) box.current.scrollTop = box.current.scrollHeight - fromEnd.current;
  }, [firstKey]);
  useLayoutEffect(() => {
    if (follow.current && !isMoving()) toEnd();
  }, [count]);
  useEffect(() => {
    const observer = new ResizeObserver(() => latestGrown.current());
    for (const found of [box.current, content.current]) if (found) observer.observe(found);
    return () => observer.disconnect();
  }, []);

  return (
    <div className="relative min-h-0 flex-1">
      <div
        ref={box}
        onScroll={scrolled}
        onWheel={moves}
        onTouchMove={moves}
        onPointerDown={moves}
        onKeyDown={moves}
        onClick={touched}
        className="bare-focus h-full overflow-y-auto"
        tabIndex={0}
        role="log"
        aria-live="off"
        aria-label={t('chat.messages')}
      >
        <div ref={content} className="mx-auto flex w-full max-w-3xl flex-col gap-6 px-4 py-6 md:px-6">
          {hasOlder && <Older key={firstKey} onSeen={onOlder} />}
          {children}
        </div>
      </div>
      {away && (
        <IconButton
          icon="arrowDown"
          look="plain"
          label={t('chat.toEnd')}
          round
          className="absolute bottom-3 left-1/2 -translate-x-1/2 shadow-md"
          onClick={backToEnd}
        />
      )}
    </div>
  );
}

function Older({ onSeen }: { onSeen: () => Promise<void> }) {
  const t = useT();
  const mark = useRef<HTMLDivElement>(null);
  const latest = useRef(onSeen);
  latest.current = onSeen;
  useEffect(() => {
    const observer = new IntersectionObserver(([entry]) => entry?.isIntersecting && void latest.current(), {
      rootMargin: AHEAD,
    });
    if (mark.current) observer.observe(mark.current);
    return () => observer.disconnect();
  }, []);
  return (
    <div ref={mark} className="flex items-center justify-center gap-2 py-2 text-sm text-quiet">
      <Spinner /> {t('chat.older')}
    </div>
  );
}
