// One live conversation: its state and actions.
import { useMemo, useState } from 'react';
import { useT } from '../i18n';
import { api } from '../api/chat';
import { hints } from '../live/hints';
import { textOf } from '../messages/history';
import { arrange } from '../messages/pendingEntries';
import type { ChatMessage, SentMode, SessionDetail, WorkspaceFile } from '../api/types';
import { errorText } from '../api/errorText';
import { outboxOf, usePendingMessages } from '../messages/outboxes';
import { useServerState } from './useServerState';
import { brokenOff, useStream } from './useStream';

export type Conversation = ReturnType<typeof useConversation>;

export function useConversation(detail: SessionDetail) {
  const outbox = outboxOf(detail.id);
  const sent = usePendingMessages(outbox);
  const stream = useStream(detail);
  const { server, settle, hasOlder, loadOlder } = useServerState(detail, stream, outbox);
  const { chat, messages, live } = stream;
  const { problem, dismissProblem, attempt } = useAttempts(settle);

  const [chosen, setChosen] = useState<string | null>(null); // what was picked here, until the server says it
  const picked = chosen ?? server.model;

  const running = stream.turn ?? server.active_turn?.id ?? null;
  const pending = useMemo(() => {
    const shown = new Set(
      messages.filter((message) => message.role === 'user').map((message) => message.metadata?.turn_id ?? ''),
    );
    return arrange(sent, server.queued_turns, running, shown);
  }, [sent, server.queued_turns, running, messages]);

  /** Runs a request over the socket; refusals are shown, a lost connection is not. */
  const ask = (work: () => Promise<void>) =>
    attempt(async () => {
      await stream.ask(work);
      if (chat.status === 'error' && chat.error && hints.connected && !brokenOff(chat.error)) throw chat.error;
    });

  return {
    session: server,
    model: picked,
    pickModel: (name: string) => {
      setChosen(name);
      return attempt(() => api.change(detail.id, { model: name }));
    },
    messages,
    live,
    busy: live || running !== null,
    submitted: stream.status === 'submitted',
    note: stream.note,
    pending,
    hasOlder,
    loadOlder,
    problem,
    dismissProblem,
    send: (text: string, files: WorkspaceFile[], mode: SentMode) =>
      attempt(async () => {
        if (await outbox.send(text, files, mode, picked)) stream.join();
      }),
    resend: (id: string) => attempt(() => outbox.attempt(id)),
    discard: (id: string) => outbox.discard(id),
    stop: () => attempt(() => api.cancel(detail.id)),
    stopCall: (turn: string, call: string) => attempt(() => api.cancelCall(turn, call)),
    regenerate: (message: string, model = picked) =>
      ask(() => chat.regenerate({ messageId: message, body: bodyFor(model) })),
    edit: (message: ChatMessage, text: string) =>
      ask(() =>
        textOf(message) === text
          ? chat.regenerate({ messageId: message.id, body: bodyFor(picked) })
          : chat.sendMessage({ text, messageId: message.id }, { body: bodyFor(picked) }),
      ),
    show: (turn: string) => attempt(() => api.show(turn)),
    changeQueued: (turn: string, change: { message?: string; while_running?: SentMode }) =>
      attempt(() => api.editQueued(turn, change)),
    removeQueued: (turn: string) => attempt(() => api.removeQueued(turn)),
  };
}

/** Returns the body of a request for an answer: the model, where one was picked. */
function bodyFor(model: string): { model: string } | undefined {
  return model ? { model } : undefined;
}

/** Runs an action, shows its error, and refreshes. */
function useAttempts(settle: () => Promise<void>) {
  const t = useT();
  const [problem, setProblem] = useState('');
  const attempt = async (work: () => Promise<unknown>) => {
    setProblem('');
    try {
      await work();
    } catch (error) {
      setProblem(errorText(error, t));
    }
    await settle();
  };
  return { problem, attempt, dismissProblem: () => setProblem('') };
}
