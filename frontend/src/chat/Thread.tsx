import { type ReactNode, useEffect, useLayoutEffect, useRef, useState } from 'react';
import { IconButton, Spinner } from '../components/Button';
import { useT } from '../i18n';

const NEAR = 120; // pixels from the end: whoever reads further up is not pulled down
const AHEAD = '600px 0px 0px 0px'; // older messages are fetched before their place comes into view

type Props = {
  live: boolean;
  count: number;
  firstKey: string;
  hasOlder: boolean;
  onOlder: () => Promise<void>;
  children: ReactNode;
};

/** The messages in a column that follows the newest words while one is at the end, and stays put when one is not. */
export function Thread({ live, count, firstKey, hasOlder, onOlder, children }: Props) {
  const t = useT();
  const box = useRef<HTMLDivElement>(null);
  const content = useRef<HTMLDivElement>(null);
  const follow = useRef(true);
  const fromEnd = useRef(0);
  const [away, setAway] = useState(false);

  const toEnd = () => box.current?.scrollTo({ top: box.current.scrollHeight });
  const scrolled = () => {
    const found = box.current;
    if (!found) return;
    fromEnd.current = found.scrollHeight - found.scrollTop;
    follow.current = fromEnd.current - found.clientHeight < NEAR;
    setAway(!follow.current);
  };

  // Something was put above what is being read: stay with it.
  useLayoutEffect(() => {
    if (box.current && !follow.current) box.current.scrollTop = box.current.scrollHeight - fromEnd.current;
  }, [firstKey]);
  useLayoutEffect(() => {
    if (follow.current) toEnd();
  }, [count]);
  useEffect(() => {
    const found = content.current;
    if (!found) return;
    const until = Date.now() + 1000; // a page that just opened is still finding its size
    const observer = new ResizeObserver(() => {
      if (follow.current && (live || Date.now() < until)) toEnd();
    });
    observer.observe(found);
    return () => observer.disconnect();
  }, [live]);

  return (
    <div className="relative min-h-0 flex-1">
      <div ref={box} onScroll={scrolled} className="bare-focus h-full overflow-y-auto" tabIndex={0} role="log" aria-live="off" aria-label={t('chat.messages')}>
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
          onClick={toEnd}
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
    const observer = new IntersectionObserver(([entry]) => entry?.isIntersecting && void latest.current(), { rootMargin: AHEAD });
    if (mark.current) observer.observe(mark.current);
    return () => observer.disconnect();
  }, []);
  return (
    <div ref={mark} className="flex items-center justify-center gap-2 py-2 text-sm text-quiet">
      <Spinner /> {t('chat.older')}
    </div>
  );
}
