// The stream of a conversation's answers: the AI SDK's own chat over its own websocket transport, joined and rejoined.
import './jitless';
import { Chat, useChat } from '@ai-sdk/react';
import { WebSocketChatTransport } from 'ai';
import { useCallback, useEffect, useMemo, useRef, useState } from 'react';
import { steady } from '../lib/history';
import type { ChatMessage, SessionDetail } from '../lib/types';

const THROTTLE = 50; // ms between two drawings of a growing answer
const HOLD = 1500; // ms a replay may take to catch up with what is shown

export type Stream = ReturnType<typeof useStream>;

export function useStream(detail: SessionDetail) {
  const [note, setNote] = useState('');
  const [transport] = useState(makeTransport);
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
  const { messages, status } = useChat({ chat, throttle: THROTTLE });
  const live = status === 'streaming' || status === 'submitted';
  useEffect(() => {
    if (!live) setNote('');
  }, [live]);

  const joining = useRef(false);
  const held = useRef<{ message: ChatMessage; at: number } | null>(null);
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

  const asked = useRef({ count: 0, open: false });
  /** Ask for another answer. Until it begins the server still has the old one, and must not be believed. */
  const ask = async (work: () => Promise<void>) => {
    asked.current = { count: asked.current.count + 1, open: true };
    await work().finally(() => {
      asked.current.open = false;
    });
  };
  /** A number that stands while what the server says can be taken over; null while it cannot. */
  const era = useCallback(() => (asked.current.open && chat.status !== 'streaming' ? null : asked.current.count), [chat]);

  const last = messages.at(-1);
  const shown = useMemo(() => {
    const hold = held.current;
    if (!live || !last || !hold || Date.now() - hold.at > HOLD) return messages;
    return steady(hold.message, last) === last ? messages : messages.with(-1, hold.message);
  }, [messages, live, last]);
  const turn = status === 'streaming' && last?.role === 'assistant' ? (last.metadata?.turn_id ?? null) : null;
  return { chat, messages: shown, status, live, note, turn, join, ask, era };
}

/** Only the last message travels; the server has the rest. */
function makeTransport(): WebSocketChatTransport<ChatMessage> {
  return new WebSocketChatTransport<ChatMessage>({
    url: `${location.origin.replace('http', 'ws')}/ws/chat/`,
    prepareSendMessagesRequest: ({ messages, body }) => ({ messages: messages.slice(-1), body }),
  });
}
