import { type RefObject, useEffect, useRef } from 'react';

const WIDE = 60; // characters of a line that may not fit beside a side bar
const SCROLLERS = '[data-streamdown="code-block-body"]:not([tabindex]), [data-streamdown="table"]';

/** Lets a keyboard reach code and tables that scroll sideways. They appear and are coloured after their text. */
export function useReachableCode(): RefObject<HTMLDivElement | null> {
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const found = box.current;
    if (!found) return;
    reach(found);
    const observer = new MutationObserver(() => reach(found));
    observer.observe(found, { childList: true, subtree: true });
    return () => observer.disconnect();
  }, []);
  return box;
}

function reach(box: HTMLElement): void {
  for (const one of box.querySelectorAll<HTMLElement>(SCROLLERS)) {
    const scroller = one.dataset.streamdown === 'table' ? one.parentElement : isWide(one) ? one : null;
    if (scroller && scroller.tabIndex !== 0) scroller.tabIndex = 0;
  }
}

/** By its text: measuring would lay out every message of a long conversation. */
function isWide(code: HTMLElement): boolean {
  return (code.textContent ?? '').length > WIDE;
}
