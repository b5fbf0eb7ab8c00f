// Who else has the draft open: reported while the page is open, and heard from other tabs.
import { useCallback, useEffect, useState } from 'react';
import { csrfToken } from '../api/http';
import { useHints } from '../live/hints';
import { draftApi, type Editor } from './api';
import type { DraftSync } from './sync';

const REPORT = 15_000; // ms

export function useEditors(agent: string, sync: DraftSync): Editor[] {
  const [editors, setEditors] = useState<Editor[]>([]);
  const report = useCallback(
    () =>
      void draftApi.editors(agent, sync.clientId, device()).then(
        (answer) => setEditors(answer.editors),
        () => undefined,
      ),
    [agent, sync],
  );
  useEffect(() => {
    report();
    const timer = window.setInterval(report, REPORT);
    const leave = () =>
      void fetch(`/api/agents/${agent}/draft/editors`, {
        method: 'POST',
        keepalive: true,
        headers: { 'Content-Type': 'application/json', 'X-CSRFToken': csrfToken() },
        body: JSON.stringify({ client_id: sync.clientId, closed: true }),
      }).catch(() => undefined);
    window.addEventListener('pagehide', leave);
    return () => {
      window.clearInterval(timer);
      window.removeEventListener('pagehide', leave);
      leave();
    };
  }, [agent, sync, report]);
  useHints((hint) => {
    if (hint.agent_id !== agent) {
      if (hint.type === 'reconnected') void sync.refresh();
      return;
    }
    if (hint.type === 'draft.editors') report();
    if (hint.type === 'draft.updated' && hint.client_id !== sync.clientId) void sync.refresh();
  });
  return editors;
}

/** What tells two tabs of one person apart. */
function device(): string {
  const agent = navigator.userAgent;
  const browser = /Firefox|Edg|OPR|Chrome|Safari/.exec(agent)?.[0] ?? '';
  const system = /Android|iPhone|iPad|Windows|Mac|Linux/.exec(agent)?.[0] ?? '';
  return [browser.replace('Edg', 'Edge').replace('OPR', 'Opera'), system].filter(Boolean).join(', ');
}
