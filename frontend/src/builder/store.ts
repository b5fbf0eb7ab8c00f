// The state of the builder outside React: the document with its history, what is chosen, and who listens.
import { useSyncExternalStore } from 'react';
import type { Doc } from './document';
import { merge, same } from './merge';

type Step = { before: Doc; after: Doc; key: string };
export type Snapshot = { doc: Doc; chosen: ReadonlySet<string>; canUndo: boolean; canRedo: boolean };

const NONE: ReadonlySet<string> = new Set();

export class BuilderStore {
  private past: Step[] = [];
  private future: Step[] = [];
  private listeners = new Set<() => void>();
  private snapshot: Snapshot;

  constructor(doc: Doc) {
    this.snapshot = { doc, chosen: NONE, canUndo: false, canRedo: false };
  }

  get doc(): Doc {
    return this.snapshot.doc;
  }

  get chosen(): ReadonlySet<string> {
    return this.snapshot.chosen;
  }

  listen = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  read = (): Snapshot => this.snapshot;

  /** An edit that can be undone; edits in a row with the same key, such as typing in one field, are one step. */
  edit(change: (doc: Doc) => Doc, key = ''): void {
    const [before, after] = [this.doc, change(this.doc)];
    if (after === before || same(after, before)) return;
    const last = this.past.at(-1);
    if (key && last?.key === key && last.after === before) this.past[this.past.length - 1] = { ...last, after };
    else this.past.push({ before, after, key });
    this.future = [];
    this.show({ doc: after });
  }

  /** Ends a step of typing: what comes next is a step of its own. */
  settle(): void {
    const last = this.past.at(-1);
    if (last) last.key = '';
  }

  /** Takes back the last edit and only that: what came from elsewhere meanwhile stays. */
  undo(): void {
    const step = this.past.pop();
    if (!step) return;
    this.future.push(step);
    this.show({ doc: step.after === this.doc ? step.before : merge(step.after, step.before, this.doc).doc });
  }

  redo(): void {
    const step = this.future.pop();
    if (!step) return;
    this.past.push(step);
    this.show({ doc: step.before === this.doc ? step.after : merge(step.before, step.after, this.doc).doc });
  }

  /** A change from elsewhere, which is not a step of this person. */
  replace(doc: Doc): void {
    this.show({ doc });
  }

  choose(ids: Iterable<string>): void {
    const chosen = new Set(ids);
    if (chosen.size === this.chosen.size && [...chosen].every((id) => this.chosen.has(id))) return;
    this.show({ chosen });
  }

  private show(change: Partial<Snapshot>): void {
    const next = { ...this.snapshot, ...change };
    const there = new Set(next.doc.nodes.map((node) => node.id));
    if ([...next.chosen].some((id) => !there.has(id)))
      next.chosen = new Set([...next.chosen].filter((id) => there.has(id)));
    this.snapshot = { ...next, canUndo: this.past.length > 0, canRedo: this.future.length > 0 };
    for (const listener of this.listeners) listener();
  }
}

export const useBuilder = (store: BuilderStore): Snapshot => useSyncExternalStore(store.listen, store.read);
