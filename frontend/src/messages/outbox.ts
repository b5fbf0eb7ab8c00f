// The outbox: messages are kept until the server confirms them, and sent again when the connection is back.
// Sending twice is harmless: the server identifies a message by its client id.
import { api } from '../api/chat';
import { ApiError } from '../api/http';
import { newId } from '../browser/ids';
import { type Action, type LiveTurns, nextState, type PendingMessage, reduce } from './messageState';
import type { SentMode, Turn, WorkspaceFile } from '../api/types';

export class Outbox {
  messages: PendingMessage[];
  private watchers = new Set<() => void>();

  constructor(
    private readonly session: string,
    private readonly deliver: (message: PendingMessage) => Promise<Turn> = (message) => post(session, message),
    private readonly store: Pick<Storage, 'getItem' | 'setItem' | 'removeItem'> = localStorage,
  ) {
    this.messages = this.read();
  }

  watch = (changed: () => void): (() => void) => {
    this.watchers.add(changed);
    return () => this.watchers.delete(changed);
  };

  /** Returns the turn, or undefined if the message must wait or was refused; its state says which. */
  async send(text: string, files: WorkspaceFile[], mode: SentMode, model?: string): Promise<Turn | undefined> {
    const id = newId();
    this.dispatch({ type: 'sent', message: { client_id: id, text, files, mode, model } });
    return this.attempt(id);
  }

  /** Retry all unsent messages in order; `all`: also those in flight, whose connection may be dead. */
  async retry(all = false): Promise<boolean> {
    let taken = false;
    for (const { client_id: id } of this.messages.filter(
      ({ state }) => state === 'unsent' || (all && state === 'sending'),
    )) {
      taken = Boolean(await this.attempt(id)) || taken;
    }
    return taken;
  }

  async attempt(id: string): Promise<Turn | undefined> {
    const message = this.find(id);
    if (!message || nextState(message.state, 'attempted') !== 'sending') return message?.turn;
    this.dispatch({ type: 'attempted', id });
    try {
      const turn = await this.deliver(message);
      this.dispatch({ type: 'accepted', id, turn });
      return turn;
    } catch (error) {
      const problem = error instanceof ApiError ? error : new ApiError(0, 'offline', '');
      this.dispatch({ type: problem.isOffline ? 'unreachable' : 'refused', id, problem });
      return this.find(id)?.turn; // it may have come through another way meanwhile
    }
  }

  discard(id: string): void {
    this.dispatch({ type: 'discarded', id });
  }

  /** The turns that the server has created for messages. */
  get accepted(): string[] {
    return this.messages.flatMap((message) => message.turn?.id ?? []);
  }

  /** Drop turns accepted before the server was asked that are no longer live there: shown, steered or removed. */
  observe(accepted: readonly string[], live: LiveTurns): void {
    this.dispatch({ type: 'observed', accepted, live });
  }

  private find(id: string): PendingMessage | undefined {
    return this.messages.find((message) => message.client_id === id);
  }

  private dispatch(action: Action): void {
    const before = this.messages;
    this.messages = reduce(before, action);
    if (this.messages === before) return;
    const kept = this.messages.filter((message) => !message.turn);
    if (kept.length) this.store.setItem(this.name, JSON.stringify(kept));
    else this.store.removeItem(this.name);
    for (const watcher of this.watchers) watcher();
  }

  private get name(): string {
    return `ratchet.outbox.${this.session}`;
  }

  /** A message in flight when the page was closed may not have arrived. */
  private read(): PendingMessage[] {
    try {
      const kept = JSON.parse(this.store.getItem(this.name) ?? '[]') as PendingMessage[];
      return kept.map((message) => ({ ...message, state: message.state === 'refused' ? 'refused' : 'unsent' }));
    } catch {
      return [];
    }
  }
}

async function post(session: string, message: PendingMessage): Promise<Turn> {
  const answer = await api.send(session, {
    message: message.text,
    client_id: message.client_id,
    while_running: message.mode,
    attachments: message.files.map((file) => file.id),
    ...(message.model ? { model: message.model } : {}),
  });
  return answer.turn;
}
