// Autosave: sends the document as it changes, keeps it in the browser until the server has it, and merges what was
// saved elsewhere. A save whose answer was lost is repeated as it was, under its key, before anything newer is sent.
import { useSyncExternalStore } from 'react';
import { ApiError } from '../api/http';
import { newId } from '../browser/ids';
import { recall, remember } from '../browser/storage';
import { type Draft, draftApi } from './api';
import type { Doc } from './document';
import { type Conflict, merge, same } from './merge';
import type { BuilderStore } from './store';

export type SyncStatus = 'saved' | 'unsaved' | 'saving' | 'offline' | 'refused';
export type SyncState = { status: SyncStatus; draft: Draft; refusal: string; conflicts: Conflict[] };
type Pending = { graph: Doc; save_id: string; base_version?: number };
type Kept = { base: Doc; graph: Doc };

const PAUSE = 400; // ms without a change before a save
const FIRST_RETRY = 500;
const LONGEST_RETRY = 8_000;

export class DraftSync {
  readonly clientId = newId();
  private listeners = new Set<() => void>();
  private state: SyncState;
  private synced: Doc; // as the server has it
  private pending: Pending | null = null;
  private rebased: number | undefined;
  private running: Promise<void> | null = null;
  private timer = 0;
  private retry = FIRST_RETRY;
  private stopListening: () => void;

  constructor(
    readonly agent: string,
    private store: BuilderStore,
    draft: Draft,
  ) {
    this.synced = store.doc;
    this.state = { status: 'saved', draft, refusal: '', conflicts: [] };
    this.restore();
    this.stopListening = store.listen(() => this.changed());
    window.addEventListener('pagehide', this.keep);
  }

  close(): void {
    this.stopListening();
    window.removeEventListener('pagehide', this.keep);
    window.clearTimeout(this.timer);
    if (this.isDirty) void this.save();
  }

  listen = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  read = (): SyncState => this.state;

  get isDirty(): boolean {
    return this.pending !== null || this.store.doc !== this.synced;
  }

  /** Resolves with the draft once everything typed so far is saved; rejects if the server is away or refuses it. */
  async flush(): Promise<Draft> {
    window.clearTimeout(this.timer);
    for (let round = 0; this.isDirty && round < 10; round += 1) {
      await this.save();
      if (this.state.status === 'offline') throw new ApiError(0, 'offline', '');
      if (this.state.status === 'refused') throw new ApiError(400, 'refused', this.state.refusal);
    }
    return this.state.draft;
  }

  /** Something was saved elsewhere, or the connection is back. */
  async refresh(): Promise<void> {
    if (this.running) await this.running;
    if (this.pending) return this.soon(0);
    try {
      this.take(await draftApi.get(this.agent));
    } catch {
      this.show({ status: 'offline' });
    }
    if (this.isDirty) this.soon(0);
  }

  /** A draft that an action of this tab answered with: published, discarded, pinned. */
  take(draft: Draft): void {
    if (draft.revision !== this.state.draft.revision) this.mergeIn(draft.graph);
    this.show({ draft, status: this.isDirty ? 'unsaved' : 'saved' });
  }

  /** The draft was merged with this version, on which it is based from now on. */
  rebase(version: number): void {
    this.rebased = version;
    this.pending = null;
    this.soon(0);
  }

  /** Nothing of this tab is kept: the draft was discarded. */
  reset(draft: Draft): void {
    this.pending = null;
    this.synced = draft.graph;
    remember(this.key, null);
    this.store.replace(draft.graph);
    this.show({ draft, status: 'saved', conflicts: [] });
  }

  forgetConflicts(): void {
    this.show({ conflicts: [] });
  }

  // --- in the browser ---------------------------------------------------------------------------

  private get key(): string {
    return `draft.${this.agent}`;
  }

  private keep = (): void => {
    const kept: Kept = { base: this.synced, graph: this.store.doc };
    remember(this.key, this.isDirty ? JSON.stringify(kept) : null);
  };

  /** What an earlier page could not send any more. */
  private restore(): void {
    try {
      const kept = JSON.parse(recall(this.key) ?? 'null') as Kept | null;
      if (!kept) return;
      const merged = merge(kept.base, kept.graph, this.synced);
      if (same(merged.doc, this.synced)) return;
      this.store.edit(() => merged.doc);
      this.state = { ...this.state, status: 'unsaved', conflicts: merged.conflicts };
      this.soon(0);
    } catch {
      remember(this.key, null);
    }
  }

  // --- to the server ----------------------------------------------------------------------------

  private changed(): void {
    if (!this.isDirty) return;
    this.keep();
    if (this.state.status !== 'unsaved' && this.state.status !== 'offline') this.show({ status: 'unsaved' });
    if (this.state.status !== 'offline') this.soon(PAUSE);
  }

  private soon(milliseconds: number): void {
    window.clearTimeout(this.timer);
    this.timer = window.setTimeout(() => void this.save(), milliseconds);
  }

  private save(): Promise<void> {
    this.running ??= this.send().finally(() => {
      this.running = null;
    });
    return this.running;
  }

  private async send(): Promise<void> {
    if (!this.isDirty && this.rebased === undefined) return;
    this.pending ??= {
      graph: this.store.doc,
      save_id: newId(),
      ...(this.rebased === undefined ? {} : { base_version: this.rebased }),
    };
    const sent = this.pending;
    if (this.state.status !== 'offline') this.show({ status: 'saving' });
    try {
      const { revision } = this.state.draft;
      const draft = await draftApi.save(this.agent, { ...sent, revision, client_id: this.clientId });
      this.done(sent, draft);
    } catch (error) {
      await this.failed(error);
    }
  }

  private done(sent: Pending, draft: Draft): void {
    this.pending = null;
    this.rebased = undefined;
    this.retry = FIRST_RETRY;
    this.synced = sent.graph;
    if (!same(draft.graph, sent.graph)) this.mergeIn(draft.graph); // secrets are not stored
    this.show({ draft, status: this.isDirty ? 'unsaved' : 'saved', refusal: '' });
    this.keep();
    if (this.isDirty) this.soon(PAUSE);
  }

  private async failed(error: unknown): Promise<void> {
    if (error instanceof ApiError && error.code === 'draft_moved') {
      this.pending = null;
      try {
        this.take(await draftApi.get(this.agent));
      } catch {
        this.show({ status: 'offline' });
      }
      return this.soon(0);
    }
    if (error instanceof ApiError && !error.isOffline && error.status < 500 && error.status !== 429) {
      this.pending = null;
      return this.show({ status: 'refused', refusal: error.message });
    }
    this.show({ status: 'offline' });
    this.soon(this.retry);
    this.retry = Math.min(2 * this.retry, LONGEST_RETRY);
  }

  private mergeIn(theirs: Doc): void {
    const { doc, conflicts } = merge(this.synced, this.store.doc, theirs);
    const untouched = this.store.doc === this.synced;
    this.synced = untouched ? doc : theirs;
    if (doc !== this.store.doc) this.store.replace(doc);
    if (!untouched && same(doc, theirs)) this.synced = doc;
    if (conflicts.length) this.show({ conflicts: [...this.state.conflicts, ...conflicts] });
  }

  private show(change: Partial<SyncState>): void {
    this.state = { ...this.state, ...change };
    for (const listener of this.listeners) listener();
  }
}

export const useSync = (sync: DraftSync): SyncState => useSyncExternalStore(sync.listen, sync.read);
