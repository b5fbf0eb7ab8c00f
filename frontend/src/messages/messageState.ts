// The state of a sent message, from the composer to its answer: one table, one reducer.
import type { ApiError } from '../api/http';
import type { SentMode, Turn, WorkspaceFile } from '../api/types';

export type MessageState =
  | 'sending' // on its way to the server
  | 'unsent' // the server could not be reached; sent again when the connection is back
  | 'refused' // the server said no; the person decides
  | 'accepted' // the server has it and made a turn of it
  | 'queued' // its turn waits for another to end
  | 'running' // it is being answered
  | 'ended' // it stands in the conversation, was taken into another answer, or was removed; how it went, its answer says
  | 'discarded'; // the person took it back before the server had it

export type MessageEvent =
  'attempted' | 'unreachable' | 'refused' | 'accepted' | 'queued' | 'started' | 'ended' | 'discarded';

/** Events that are not in the table are ignored: responses arrive late, twice, or from abandoned connections. */
const TRANSITIONS: Record<MessageState, Partial<Record<MessageEvent, MessageState>>> = {
  sending: { unreachable: 'unsent', refused: 'refused', accepted: 'accepted', discarded: 'discarded' },
  unsent: { attempted: 'sending', accepted: 'accepted', discarded: 'discarded' },
  refused: { attempted: 'sending', accepted: 'accepted', discarded: 'discarded' },
  accepted: { queued: 'queued', started: 'running', ended: 'ended' },
  queued: { started: 'running', ended: 'ended' },
  running: { queued: 'queued', ended: 'ended' }, // back to the queue: its worker handed it over
  ended: {},
  discarded: {},
};

export function nextState(state: MessageState, event: MessageEvent): MessageState {
  return TRANSITIONS[state][event] ?? state;
}

export type PendingMessage = {
  client_id: string;
  text: string;
  files: WorkspaceFile[];
  mode: SentMode;
  model?: string; // picked for it; the conversation's own otherwise
  state: MessageState;
  problem?: ApiError;
  turn?: Turn;
};

export type LiveTurns = ReadonlyMap<string, 'queued' | 'running'>;
export type Action =
  | { type: 'sent'; message: Omit<PendingMessage, 'state'> }
  | { type: 'attempted' | 'discarded'; id: string }
  | { type: 'unreachable' | 'refused'; id: string; problem: ApiError }
  | { type: 'accepted'; id: string; turn: Turn }
  /** The server's list arrived: turns accepted before it that are no longer live have ended. */
  | { type: 'observed'; accepted: readonly string[]; live: LiveTurns };

/** The pending messages after an event; the same list if nothing changed. Ended ones are removed. */
export function reduce(messages: PendingMessage[], action: Action): PendingMessage[] {
  switch (action.type) {
    case 'sent':
      return [...messages, { ...action.message, state: 'sending' }];
    case 'observed':
      return changed(messages, (message) => observe(message, action.accepted, action.live));
    case 'accepted':
      return changed(messages, (message) =>
        message.client_id === action.id
          ? move(message, 'accepted', { turn: action.turn, problem: undefined })
          : message,
      );
    case 'unreachable':
    case 'refused':
      return changed(messages, (message) =>
        message.client_id === action.id ? move(message, action.type, { problem: action.problem }) : message,
      );
    case 'attempted':
    case 'discarded':
      return changed(messages, (message) =>
        message.client_id === action.id ? move(message, action.type, { problem: undefined }) : message,
      );
  }
}

function observe(message: PendingMessage, accepted: readonly string[], live: LiveTurns): PendingMessage {
  if (!message.turn || !accepted.includes(message.turn.id)) return message;
  const found = live.get(message.turn.id);
  return move(message, found === undefined ? 'ended' : found === 'running' ? 'started' : 'queued');
}

function move(message: PendingMessage, event: MessageEvent, more: Partial<PendingMessage> = {}): PendingMessage {
  const state = nextState(message.state, event);
  return state === message.state ? message : { ...message, ...more, state };
}

function changed(messages: PendingMessage[], change: (message: PendingMessage) => PendingMessage): PendingMessage[] {
  const now = messages.map(change);
  if (now.every((message, place) => message === messages[place])) return messages;
  return now.filter(({ state }) => state !== 'ended' && state !== 'discarded');
}
