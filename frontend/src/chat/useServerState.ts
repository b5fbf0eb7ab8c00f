// The server's state of a conversation, fetched whenever it may have changed.
import type { Chat } from '@ai-sdk/react';
import { useQueryClient } from '@tanstack/react-query';
import { useCallback, useEffect, useMemo, useRef, useState } from 'react';
import { api } from '../api/chat';
import { useHints } from '../live/hints';
import { ApiError } from '../api/http';
import { withNewest, withOlder } from '../messages/history';
import type { LiveTurns } from '../messages/messageState';
import type { Outbox } from '../messages/outbox';
import type { ChatMessage, SessionDetail } from '../api/types';
import { singleFlight } from '../messages/singleFlight';
import type { Stream } from './useStream';

const PAUSES = [150, 500, 1000, 2000, 4000]; // ms before a stream that broke off is joined again
const TURNS = new Set(['turn.queued', 'turn.running', 'turn.finished', 'session.updated']);

/** Reconciles the database, which is correct, with the stream, which is earlier. */
export function useServerState(
  detail: SessionDetail,
  { chat, status, misses, join, requestGeneration }: Stream,
  outbox: Outbox,
) {
  const id = detail.id;
  const cache = useQueryClient();
  const [server, setServer] = useState(detail);
  const [unheard, setUnheard] = useState(0); // how often the server did not answer
  const before = useRef(detail.before);
  const [hasOlder, setHasOlder] = useState(detail.before !== null);
  const take = useCallback(
    (loaded: { messages: ChatMessage[]; before: string | null }) => {
      chat.messages = loaded.messages;
      before.current = loaded.before;
      setHasOlder(loaded.before !== null);
    },
    [chat],
  );

  /** Fetch the server's state; join the stream of a turn that runs or is queued there. */
  const settle = useMemo(
    () =>
      singleFlight(async () => {
        const accepted = outbox.accepted;
        const asked = requestGeneration();
        const now = await api.session(id).catch((error: unknown) => {
          if (error instanceof ApiError && error.isOffline) setUnheard((count) => count + 1);
          return null;
        });
        if (!now || asked === null || asked !== requestGeneration()) return; // another answer was asked for meanwhile
        take(withNewest({ messages: chat.messages, before: before.current }, now, furtherThan(now, chat)));
        setServer(now);
        cache.setQueryData(['session', id], now);
        outbox.observe(accepted, liveTurns(now));
        if (now.active_turn || now.queued_turns.length > 0) join();
      }),
    [id, chat, cache, outbox, join, take, requestGeneration],
  );
  const loadOlder = async () => {
    const from = before.current;
    const page = from ? await api.session(id, from).catch(() => null) : null;
    if (page && before.current === from) take(withOlder({ messages: chat.messages, before: from }, page));
  };

  useHints((hint) => {
    if (hint.type === 'reconnected') void outbox.retry(hint.doubted).then(settle);
    else if (hint.session_id === id && TURNS.has(hint.type)) void settle();
    else if (hint.session_id === id && hint.type === 'operation.updated' && hint.status !== 'running') void settle();
  });
  useEffect(() => {
    void outbox.retry().then(settle);
  }, [outbox, settle]);
  useSettleAfterStream(status, misses + unheard, settle);
  return { server, settle, hasOlder, loadOlder };
}

/** Refreshes after a stream started or ended; one that broke off is joined again with growing pauses. */
function useSettleAfterStream(status: Stream['status'], failures: number, settle: () => Promise<void>): void {
  const breaks = useRef(0);
  const known = useRef(failures);
  useEffect(() => {
    if (status === 'submitted') return;
    const broken = status === 'error' || failures > known.current;
    known.current = failures;
    const pause = broken ? PAUSES[Math.min(breaks.current, PAUSES.length - 1)] : 0;
    breaks.current = broken ? breaks.current + 1 : 0;
    const timer = window.setTimeout(() => void settle(), pause);
    return () => window.clearTimeout(timer);
  }, [status, failures, settle]);
}

/** The server stores only complete steps of a running turn; the page may show more. */
function furtherThan(now: SessionDetail, chat: Chat<ChatMessage>): ChatMessage | undefined {
  const ofRunning = now.active_turn !== null && chat.lastMessage?.metadata?.turn_id === now.active_turn.id;
  return ofRunning || chat.status === 'streaming' ? chat.lastMessage : undefined;
}

/** The queued and running turns whose message is not in the conversation yet. */
function liveTurns(now: SessionDetail): LiveTurns {
  const shown = new Set(
    now.messages.filter((message) => message.role === 'user').map((message) => message.metadata?.turn_id),
  );
  const live = now.queued_turns.map((turn) => [turn.id, 'queued'] as [string, 'queued' | 'running']);
  if (now.active_turn) live.push([now.active_turn.id, 'running']);
  return new Map(live.filter(([turn]) => !shown.has(turn)));
}
