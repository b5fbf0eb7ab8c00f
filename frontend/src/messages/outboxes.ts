// One outbox per session for as long as the page is open: a message written on the first page is on its way already
// when the conversation opens.
import { useSyncExternalStore } from 'react';
import type { PendingMessage } from './messageState';
import { Outbox } from './outbox';

const outboxes = new Map<string, Outbox>();

export function outboxOf(session: string): Outbox {
  const found = outboxes.get(session) ?? new Outbox(session);
  outboxes.set(session, found);
  return found;
}

export function usePendingMessages(outbox: Outbox): PendingMessage[] {
  return useSyncExternalStore(outbox.watch, () => outbox.messages);
}
