// Merges the messages shown with those of the server. Pure functions.
import type { ChatMessage, Part } from '../api/types';

export type Loaded = { messages: ChatMessage[]; before: string | null };

/** The newest page replaces what is shown from its first message on; older messages stay. */
export function withNewest(shown: Loaded, page: Loaded, live?: ChatMessage): Loaded {
  const first = page.messages[0];
  const place = first ? shown.messages.findIndex((message) => message.id === first.id) : -1;
  const older = page.before !== null && place > 0 ? shown.messages.slice(0, place) : [];
  const known = new Map(shown.messages.map((message) => [message.id, message]));
  const newest = page.messages.map((message) => kept(known.get(message.id), message));
  const before = older.length ? shown.before : page.before;
  return { messages: withLive([...older, ...newest], live), before };
}

export function withOlder(shown: Loaded, page: Loaded): Loaded {
  const known = new Set(shown.messages.map((message) => message.id));
  const older = page.messages.filter((message) => !known.has(message.id));
  return { messages: [...older, ...shown.messages], before: page.before };
}

/** While an answer streams, its text is newer than the page's. */
function withLive(messages: ChatMessage[], live: ChatMessage | undefined): ChatMessage[] {
  if (!live || live.role !== 'assistant') return messages;
  const place = messages.findIndex((message) => message.id === live.id);
  return place < 0 ? [...messages, live] : messages.with(place, live);
}

/** Returns the same object if nothing changed, so that nothing is re-rendered. */
function kept(shown: ChatMessage | undefined, fetched: ChatMessage): ChatMessage {
  return shown && JSON.stringify(shown) === JSON.stringify(fetched) ? shown : fetched;
}

/** The React key of a message; it stays the same when the server assigns the message's id. */
export function keyOf(message: ChatMessage): string {
  const { turn_id: turn, steered_step: steered } = message.metadata ?? {};
  return message.role === 'user' && turn && steered === undefined ? `user:${turn}` : message.id;
}

export function textOf(message: ChatMessage): string {
  return message.parts.map((part) => (part.type === 'text' ? part.text : '')).join('');
}

/**
 * What to show of an answer that is being replayed: a replay starts from nothing, and until it has caught up the words
 * that stood there stay, so that nothing blinks.
 */
export function steady(shown: ChatMessage | undefined, replayed: ChatMessage): ChatMessage {
  if (!shown || shown.id !== replayed.id) return replayed;
  return weight(replayed.parts) < weight(shown.parts) ? shown : replayed;
}

const ENDED: ReadonlySet<string> = new Set(['completed', 'failed', 'cancelled']);

/** Whether the server has reported the end of an answer. */
export function hasEnded(message: ChatMessage): boolean {
  return ENDED.has(message.metadata?.status ?? '');
}

function weight(parts: readonly Part[]): number {
  let sum = 0;
  for (const part of parts) {
    if (part.type === 'text' || part.type === 'reasoning') sum += part.text.length;
    else if ('state' in part) sum += part.state === 'input-streaming' ? 1 : part.state === 'input-available' ? 2 : 3;
  }
  return sum;
}

/** Ids of the workspace images that the model was shown, according to any answer. */
export function filesSeen(messages: readonly ChatMessage[]): Set<string> {
  const seen = new Set<string>();
  for (const message of messages) {
    for (const id of message.metadata?.files_seen ?? []) seen.add(id);
    for (const part of message.parts) {
      if (part.type === 'data-files-seen')
        for (const id of (part.data as { file_ids: string[] }).file_ids) seen.add(id);
    }
  }
  return seen;
}
