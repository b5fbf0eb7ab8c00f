// One conversation, live: the database is right, the stream is early, and this hook keeps the two together.
import './jitless';
import { Chat, useChat } from '@ai-sdk/react';
import { useQueryClient } from '@tanstack/react-query';
import { WebSocketChatTransport } from 'ai';
import { useCallback, useEffect, useMemo, useRef, useState } from 'react';
import { useT } from '../i18n';
import { api } from '../lib/api';
import { hints, useHints } from '../lib/hints';
import { steady, textOf, withNewest, withOlder } from '../lib/history';
import { waiting } from '../lib/pending';
import type { ChatMessage, SentMode, SessionDetail, WorkspaceFile } from '../lib/types';
import { inWords } from '../lib/words';
import { once } from './once';
import { outboxOf, useLetters } from './outboxes';

const THROTTLE = 50; // ms between two drawings of a growing answer
const HOLD = 1500; // ms a replay may take to catch up with what is shown
const PAUSES = [150, 500, 1000, 2000, 4000]; // ms before the stream is joined again
const SETTLING = new Set(['turn.queued', 'turn.running', 'turn.finished', 'session.updated']);

export type Talk = ReturnType<typeof useTalk>;

export function useTalk(detail: SessionDetail) {
  const t = useT();
  const id = detail.id;
  const cache = useQueryClient();
  const outbox = outboxOf(id);
  const letters = useLetters(outbox);
  const [server, setServer] = useState(detail);
  const [note, setNote] = useState('');
  const [problem, setProblem] = useState('');
  const before = useRef(detail.before);
  const [hasOlder, setHasOlder] = useState(detail.before !== null);
  const held = useRef<{ message: ChatMessage; at: number } | null>(null);

  const [transport] = useState(makeTransport);
  const [chat] = useState(
    () =>
      new Chat<ChatMessage>({
        id,
        messages: detail.messages,
        transport,
        onData: (part) => part.type === 'data-status' && setNote((part.data as { message: string }).message),
      }),
  );
  useEffect(() => () => transport.close(), [transport]); // leaving the page is not stopping the answer
  const { messages, status } = useChat({ chat, throttle: THROTTLE });
  const live = status === 'streaming' || status === 'submitted';

  const joins = useRef(0);
  const joining = useRef(false);
  /** Read along with the turn that runs or comes next; answers at once, whatever comes of it shows in the status. */
  const join = useCallback(() => {
    if (joining.current || chat.status === 'streaming' || chat.status === 'submitted') return;
    const last = chat.lastMessage;
    held.current = last?.role === 'assistant' ? { message: last, at: Date.now() } : null;
    joining.current = true;
    void chat.resumeStream().finally(() => {
      joining.current = false;
    });
  }, [chat]);

  /** Take what the server has; if a turn runs or waits there, join its stream. */
  const settle = useMemo(
    () =>
      once(async () => {
        const accepted = outbox.accepted;
        const now = await api.session(id).catch(() => null);
        if (!now) return;
        // Of a running turn the server keeps whole steps only; what is shown of it may be further.
        const ofRunning = now.active_turn !== null && chat.lastMessage?.metadata?.turn_id === now.active_turn.id;
        const live = ofRunning || chat.status === 'streaming' ? chat.lastMessage : undefined;
        const merged = withNewest({ messages: chat.messages, before: before.current }, now, live);
        chat.messages = merged.messages;
        before.current = merged.before;
        setHasOlder(merged.before !== null);
        setServer(now);
        cache.setQueryData(['session', id], now);
        outbox.settle(accepted, turnsWithoutMessage(now));
        if (now.active_turn || now.queued_turns.length > 0) join();
      }),
    [id, chat, cache, outbox, join],
  );

  useHints((hint) => {
    if (hint.type === 'reconnected') void outbox.retry().then(settle);
    else if (hint.session_id === id && SETTLING.has(hint.type)) void settle();
    else if (hint.session_id === id && hint.type === 'operation.updated' && hint.status !== 'running') void settle();
  });
  useEffect(() => {
    void outbox.retry().then(settle);
  }, [outbox, settle]);

  // A stream that began or ended changed something; one that broke off is joined again, ever more patiently.
  useEffect(() => {
    if (status === 'streaming') void settle();
    if (status === 'submitted' || status === 'streaming') return;
    setNote('');
    const broken = status === 'error';
    const pause = PAUSES[Math.min(joins.current, PAUSES.length - 1)]!;
    joins.current = broken ? joins.current + 1 : 0;
    const timer = window.setTimeout(() => void settle(), broken ? pause : 0);
    return () => window.clearTimeout(timer);
  }, [status, settle]);

  const last = messages.at(-1);
  const shown = useMemo(() => {
    const hold = held.current;
    if (!live || !last || !hold || Date.now() - hold.at > HOLD) return messages;
    return steady(hold.message, last) === last ? messages : messages.with(-1, hold.message);
  }, [messages, live, last]);

  const streamed = status === 'streaming' && last?.role === 'assistant' ? (last.metadata?.turn_id ?? null) : null;
  const running = streamed ?? server.active_turn?.id ?? null;
  const pending = useMemo(() => {
    const turns = new Set(shown.filter((message) => message.role === 'user').map((message) => message.metadata?.turn_id ?? ''));
    return waiting(letters, server.queued_turns, running, turns);
  }, [letters, server.queued_turns, running, shown]);

  const attempt = useCallback(
    async (work: () => Promise<unknown>) => {
      setProblem('');
      try {
        await work();
      } catch (error) {
        setProblem(inWords(error, t));
      }
      await settle();
    },
    [settle, t],
  );
  /** Something asked over the socket: what the server refuses is said, a lost connection is not. */
  const ask = (work: () => Promise<void>) =>
    attempt(async () => {
      await work();
      if (chat.status === 'error' && chat.error && hints.connected) throw chat.error;
    });

  return {
    session: server,
    messages: shown,
    live,
    busy: live || running !== null,
    submitted: status === 'submitted',
    note,
    problem,
    pending,
    hasOlder,
    send: async (text: string, files: WorkspaceFile[], mode: SentMode) => {
      setProblem('');
      if (!(await outbox.send(text, files, mode))) return;
      join();
      await settle();
    },
    resend: (letter: string) => attempt(() => outbox.attempt(letter)),
    discard: (letter: string) => outbox.remove(letter),
    stop: () => attempt(() => api.cancel(id)),
    stopCall: (turn: string, call: string) => attempt(() => api.cancelCall(turn, call)),
    regenerate: (message: string) => ask(() => chat.regenerate({ messageId: message })),
    edit: (message: ChatMessage, text: string) =>
      ask(() => (textOf(message) === text ? chat.regenerate({ messageId: message.id }) : chat.sendMessage({ text, messageId: message.id }))),
    changeQueued: (turn: string, change: { message?: string; while_running?: SentMode }) => attempt(() => api.editQueued(turn, change)),
    removeQueued: (turn: string) => attempt(() => api.removeQueued(turn)),
    loadOlder: async () => {
      const from = before.current;
      if (!from) return;
      const page = await api.session(id, from).catch(() => null);
      if (!page || before.current !== from) return;
      const merged = withOlder({ messages: chat.messages, before: from }, page);
      before.current = merged.before;
      chat.messages = merged.messages;
      setHasOlder(merged.before !== null);
    },
    dismissProblem: () => setProblem(''),
    settle,
  };
}

/** Turns that wait or just began: what was sent for them is not among the messages yet. */
function turnsWithoutMessage(now: SessionDetail): Set<string> {
  const shown = new Set(now.messages.filter((message) => message.role === 'user').map((message) => message.metadata?.turn_id));
  const live = [...now.queued_turns, ...(now.active_turn ? [now.active_turn] : [])].map((turn) => turn.id);
  return new Set(live.filter((turn) => !shown.has(turn)));
}

/** The AI SDK's own transport; only the last message travels, the server has the rest. */
function makeTransport(): WebSocketChatTransport<ChatMessage> {
  return new WebSocketChatTransport<ChatMessage>({
    url: `${location.origin.replace('http', 'ws')}/ws/chat/`,
    prepareSendMessagesRequest: ({ messages, body }) => ({ messages: messages.slice(-1), body }),
  });
}
