import { useEffect, useRef } from 'react';
import { classes } from '../components/classes';

/** A formula: its source until the typesetter has been fetched, and if it cannot be read. */
export function Formula({ tex, display }: { tex?: unknown; display?: unknown }) {
  const source = typeof tex === 'string' ? tex : '';
  const block = display === true || display === 'true' || display === '';
  const place = useRef<HTMLSpanElement>(null);
  useEffect(() => {
    let left = false;
    void import('./katex').then(({ draw }) => {
      if (left || !place.current) return;
      try {
        draw(source, block, place.current);
      } catch {
        place.current.textContent = source; // unfinished or wrong: its words are better than nothing
      }
    });
    return () => {
      left = true;
    };
  }, [source, block]);
  return (
    <span
      className={classes('formula', block && 'my-3 block overflow-x-auto overflow-y-hidden py-1')}
      {...(block ? { tabIndex: 0 } : {})}
    >
      <span ref={place}>
        <code>{source}</code>
      </span>
    </span>
  );
}
