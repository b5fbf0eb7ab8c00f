// Messages that are on their way: kept until the server says it has them, sent again when the connection is back.
// Sending twice is harmless: the server knows a message by its client id.
import { api } from './api';
import { ApiError } from './http';
import { newId } from './ids';
import type { SentMode, Turn, WorkspaceFile } from './types';

export type Letter = {
  client_id: string;
  text: string;
  files: WorkspaceFile[];
  mode: SentMode;
  state: 'sending' | 'waiting' | 'refused' | 'sent';
  problem?: ApiError;
  turn?: Turn;
};

export class Outbox {
  letters: Letter[];
  private watchers = new Set<() => void>();

  constructor(
    private readonly session: string,
    private readonly deliver: (letter: Letter) => Promise<Turn> = (letter) => post(session, letter),
    private readonly store: Pick<Storage, 'getItem' | 'setItem' | 'removeItem'> = localStorage,
  ) {
    this.letters = this.read();
  }

  watch = (changed: () => void): (() => void) => {
    this.watchers.add(changed);
    return () => this.watchers.delete(changed);
  };

  /** Answers the turn, or undefined when the message must wait or was refused; the letter says which. */
  async send(text: string, files: WorkspaceFile[], mode: SentMode): Promise<Turn | undefined> {
    const letter: Letter = { client_id: newId(), text, files, mode, state: 'sending' };
    this.letters = [...this.letters, letter];
    this.changed();
    return this.attempt(letter.client_id);
  }

  /** Try again whatever waits for the connection, in order; `all`: also what is on its way, over a connection that may be dead. */
  async retry(all = false): Promise<boolean> {
    let taken = false;
    for (const { client_id: id } of this.letters.filter(({ state }) => state === 'waiting' || (all && state === 'sending'))) {
      taken = Boolean(await this.attempt(id)) || taken;
    }
    return taken;
  }

  async attempt(id: string): Promise<Turn | undefined> {
    const letter = this.letters.find((found) => found.client_id === id);
    if (!letter) return undefined;
    this.change(id, { state: 'sending', problem: undefined });
    try {
      const turn = await this.deliver(letter);
      this.change(id, { state: 'sent', turn });
      return turn;
    } catch (error) {
      const problem = error instanceof ApiError ? error : new ApiError(0, 'offline', '');
      const latest = this.letters.find((found) => found.client_id === id);
      if (latest?.state === 'sending') this.change(id, { state: problem.isOffline ? 'waiting' : 'refused', problem });
      return latest?.turn; // it may have come through another way meanwhile
    }
  }

  remove(id: string): void {
    this.letters = this.letters.filter((letter) => letter.client_id !== id);
    this.changed();
  }

  /** The turns the server has said to have made of letters. */
  get accepted(): string[] {
    return this.letters.flatMap((letter) => letter.turn?.id ?? []);
  }

  /** Of turns accepted before the server was asked, forget those that do not wait there: shown, steered or removed. */
  settle(accepted: readonly string[], waiting: ReadonlySet<string>): void {
    const gone = new Set(accepted.filter((turn) => !waiting.has(turn)));
    const left = this.letters.filter((letter) => !letter.turn || !gone.has(letter.turn.id));
    if (left.length === this.letters.length) return;
    this.letters = left;
    this.changed();
  }

  private change(id: string, change: Partial<Letter>): void {
    this.letters = this.letters.map((letter) => (letter.client_id === id ? { ...letter, ...change } : letter));
    this.changed();
  }

  private changed(): void {
    const kept = this.letters.filter((letter) => letter.state !== 'sent');
    if (kept.length) this.store.setItem(this.name, JSON.stringify(kept));
    else this.store.removeItem(this.name);
    for (const watcher of this.watchers) watcher();
  }

  private get name(): string {
    return `ratchet.outbox.${this.session}`;
  }

  private read(): Letter[] {
    try {
      const kept = JSON.parse(this.store.getItem(this.name) ?? '[]') as Letter[];
      return kept.map((letter) => (letter.state === 'sending' ? { ...letter, state: 'waiting' } : letter));
    } catch {
      return [];
    }
  }
}

async function post(session: string, letter: Letter): Promise<Turn> {
  const answer = await api.send(session, {
    message: letter.text,
    client_id: letter.client_id,
    while_running: letter.mode,
    attachments: letter.files.map((file) => file.id),
  });
  return answer.turn;
}
