// Sent messages that the conversation does not show yet: one may be shown as the next message, the rest are queued.
import type { ApiError } from '../api/http';
import { type MessageState, nextState, type PendingMessage } from './messageState';
import type { QueuedTurn, SentMode, WorkspaceFile } from '../api/types';

/** A pending message for display: of this page's outbox, of the server's queue, or of both. */
export type Entry = {
  key: string;
  text: string;
  files: WorkspaceFile[];
  fileCount: number;
  mode: SentMode;
  state: MessageState;
  turn?: string;
  clientId?: string;
  problem?: ApiError;
};

export type Arranged = { next: Entry | null; queued: Entry[] };

/** `running` is the turn that is being answered, if any; `shown` are the turns whose input is in the conversation. */
export function arrange(
  messages: readonly PendingMessage[],
  queued: readonly QueuedTurn[],
  running: string | null,
  shown: ReadonlySet<string>,
): Arranged {
  const ofTurn = new Map(messages.flatMap((message) => (message.turn ? [[message.turn.id, message] as const] : [])));
  const inLine = queued
    .filter((turn) => turn.message && !shown.has(turn.id))
    .map((turn) => fromTurn(turn, ofTurn.get(turn.id)));
  const listed = new Set(queued.map((turn) => turn.id));
  const rest = messages
    .filter((message) => !message.turn || (!listed.has(message.turn.id) && !shown.has(message.turn.id)))
    .map((message) => fromMessage(message, running));
  const [started, waiting] = [
    rest.filter((entry) => entry.state === 'running'),
    rest.filter((entry) => entry.state !== 'running'),
  ];
  const all = [...started, ...inLine, ...waiting];
  const [first, ...others] = all;
  if (first && (running === null || first.turn === running)) return { next: first, queued: others };
  return { next: null, queued: all };
}

function fromTurn(turn: QueuedTurn, message: PendingMessage | undefined): Entry {
  return {
    key: turn.id,
    text: turn.message?.content ?? '',
    files: message?.files ?? [],
    fileCount: turn.message?.attachments.length ?? 0,
    mode: turn.while_running,
    state: 'queued',
    turn: turn.id,
    clientId: message?.client_id,
  };
}

/** The stream knows earlier than the server's list which turn runs, and which has ended. */
function fromMessage(message: PendingMessage, running: string | null): Entry {
  const runs = message.turn !== undefined && message.turn.id === running;
  return {
    key: message.turn?.id ?? message.client_id,
    text: message.text,
    files: message.files,
    fileCount: message.files.length,
    mode: message.mode,
    state: runs ? nextState(message.state, 'started') : message.state === 'running' ? 'queued' : message.state,
    turn: message.turn?.id,
    clientId: message.client_id,
    problem: message.problem,
  };
}
