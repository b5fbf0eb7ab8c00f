// The stream of a conversation's answers: the AI SDK's chat over its websocket transport, with reconnects.
import './jitless';
import { Chat, useChat } from '@ai-sdk/react';
import { WebSocketChatTransport, type WebSocketChatTransportInitOptions } from 'ai';
import { useCallback, useEffect, useMemo, useRef, useState } from 'react';
import { hints, useHints } from '../live/hints';
import { hasEnded, steady } from '../messages/history';
import type { ChatMessage, SessionDetail } from '../api/types';
import { heartbeatSocket } from '../live/heartbeatSocket';

const THROTTLE = 50; // ms between two drawings of a growing answer
const HOLD = 1500; // ms a replay may take to catch up with what is shown

export type Stream = ReturnType<typeof useStream>;

export function useStream(detail: SessionDetail) {
  const [note, setNote] = useState('');
  const awaits = useRef((): boolean => false);
  const [transport] = useState(() => makeTransport(() => awaits.current()));
  const [chat] = useState(
    () =>
      new Chat<ChatMessage>({
        id: detail.id,
        messages: detail.messages,
        transport,
        onData: (part) => part.type === 'data-status' && setNote((part.data as { message: string }).message),
      }),
  );
  useEffect(() => () => transport.close(), [transport]); // leaving the page is not stopping the answer
  useHints((hint) => {
    if (hint.doubted) transport.close(); // what was awaited breaks off, and is joined again
  });
  const { messages, status } = useChat({ chat, throttle: THROTTLE });
  const live = status === 'streaming' || status === 'submitted';
  useEffect(() => {
    if (!live) setNote('');
  }, [live]);

  const joining = useRef(false);
  const [misses, setMisses] = useState(0); // how often it broke off before it began: no change of status tells
  awaits.current = () => joining.current || chat.status === 'streaming' || chat.status === 'submitted';
  /** Join the stream of the running or next turn; returns at once, the status shows the result. */
  const join = useCallback(() => {
    if (awaits.current()) return;
    const before = chat.status;
    joining.current = true;
    void chat.resumeStream().finally(() => {
      joining.current = false;
      if (before === 'error' && chat.status === 'error') setMisses((count) => count + 1);
    });
  }, [chat]);

  const asked = useRef({ count: 0, open: false });
  /** Ask for another answer. Until it starts, the server still returns the old one, which must be ignored. */
  const ask = async (work: () => Promise<void>) => {
    asked.current = { count: asked.current.count + 1, open: true };
    await work().finally(() => {
      asked.current.open = false;
    });
  };
  /** A generation number while the server's state may be applied; null while it may not. */
  const requestGeneration = useCallback(
    () => (asked.current.open && chat.status !== 'streaming' ? null : asked.current.count),
    [chat],
  );

  const last = messages.at(-1);
  const shown = useHeld(messages, live);
  const turn = status === 'streaming' && last?.role === 'assistant' ? (last.metadata?.turn_id ?? null) : null;
  return { chat, messages: shown, status, live, note, turn, misses, join, ask, requestGeneration };
}

/**
 * A replay starts from nothing, may break off, may come after the answer was settled, and its end is told before its
 * last words are drawn. Until it has caught up with what stood there, that stays, so that nothing blinks. An answer that
 * is taken over by another worker may become another; so not for long, unless the server has said that it is whole.
 */
function useHeld(messages: ChatMessage[], live: boolean): ChatMessage[] {
  const held = useRef<{ message: ChatMessage; behindSince: number } | null>(null);
  const [looks, lookAgain] = useState(0);
  const shown = useMemo(() => {
    const last = messages.at(-1);
    if (last?.role !== 'assistant') return messages;
    const hold = held.current;
    if (!hold || steady(hold.message, last) === last) {
      held.current = { message: last, behindSince: 0 };
      return messages;
    }
    hold.behindSince ||= Date.now();
    const patient = live && hasEnded(hold.message);
    if (!patient && Date.now() - hold.behindSince >= HOLD) return messages;
    return messages.with(-1, hold.message);
    // oxlint-disable-next-line react-hooks/exhaustive-deps -- a count that goes up means: look at the clock again
  }, [messages, live, looks]);
  const holding = shown !== messages;
  useEffect(() => {
    if (!holding) return;
    const timer = window.setTimeout(() => lookAgain((count) => count + 1), HOLD);
    return () => window.clearTimeout(timer);
  }, [holding, live]);
  return shown;
}

type Options = WebSocketChatTransportInitOptions<ChatMessage>;

/** Only the last message is sent; the server has the others. */
function makeTransport(awaits: () => boolean): WebSocketChatTransport<ChatMessage> {
  return new WebSocketChatTransport<ChatMessage>({
    webSocket: heartbeatSocket(awaits, () => hints.doubt()) as Options['webSocket'],
    url: `${location.origin.replace('http', 'ws')}/ws/chat/`,
    prepareSendMessagesRequest: ({ messages, body }) => ({ messages: messages.slice(-1), body }),
  });
}

/** Whether an answer was interrupted on this side, not refused: it is joined again automatically. */
export function brokenOff(error: Error): boolean {
  return error.message === CLOSED;
}

const CLOSED = 'WebSocket chat transport was closed.'; // what the transport says when it was closed from here
