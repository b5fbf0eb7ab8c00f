// Jumps to the message that the address names (`?message=`), loading older pages until it is there.
import { useEffect, useRef } from 'react';
import { useSearchParams } from 'wouter';
import type { ChatMessage } from '../api/types';

const MOST_PAGES = 40;

export function useJump(messages: ChatMessage[], hasOlder: boolean, loadOlder: () => Promise<void>): void {
  const [params, setParams] = useSearchParams();
  const wanted = params.get('message');
  const pages = useRef(0);
  const found = wanted !== null && messages.some((message) => message.id === wanted);
  useEffect(() => {
    if (!wanted || found) return;
    if (hasOlder && pages.current++ < MOST_PAGES) void loadOlder();
    // oxlint-disable-next-line react-hooks/exhaustive-deps -- once for each page
  }, [wanted, found, hasOlder, messages.length]);
  useEffect(() => {
    if (!wanted || !found) return;
    const timer = window.setTimeout(() => {
      const element = document.querySelector(`[data-message="${CSS.escape(wanted)}"]`);
      if (!element) return;
      element.dispatchEvent(new WheelEvent('wheel', { bubbles: true })); // moved by the person: the end is not followed
      element.scrollIntoView({ block: 'center' });
      element.classList.add('jumped');
      pages.current = 0;
      setParams({}, { replace: true });
    }, 150);
    return () => window.clearTimeout(timer);
  }, [wanted, found, setParams, messages.length]);
}
