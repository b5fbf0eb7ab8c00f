// The keys of the builder, and the clipboard: nodes are copied as JSON, so that they can be pasted into another agent.
import { useEffect } from 'react';
import { cut, paste, readClip, remove } from './document';
import type { BuilderStore } from './store';

const FIELDS = 'input, textarea, select, [contenteditable]';
const APART = 40;

export type KeyActions = {
  store: BuilderStore;
  chosenLinks: ReadonlySet<string>;
  locked: boolean;
  open: () => void;
  search: () => void;
  test: () => void;
};

export function deleteChosen({ store, chosenLinks }: Pick<KeyActions, 'store' | 'chosenLinks'>): void {
  store.edit((doc) => remove(doc, store.chosen, chosenLinks));
}

export function duplicateChosen(store: BuilderStore): void {
  let ids: string[] = [];
  store.edit((doc) => {
    const made = paste(doc, cut(doc, store.chosen), { x: APART, y: APART });
    ids = made.ids;
    return made.doc;
  });
  if (ids.length) store.choose(ids);
}

export function useKeys(actions: KeyActions): void {
  useEffect(() => {
    const pressed = (event: KeyboardEvent) => handle(event, actions);
    const copied = (event: ClipboardEvent) => copy(event, actions);
    const pasted = (event: ClipboardEvent) => insert(event, actions);
    document.addEventListener('keydown', pressed);
    document.addEventListener('copy', copied);
    document.addEventListener('cut', copied);
    document.addEventListener('paste', pasted);
    return () => {
      document.removeEventListener('keydown', pressed);
      document.removeEventListener('copy', copied);
      document.removeEventListener('cut', copied);
      document.removeEventListener('paste', pasted);
    };
  });
}

const inField = (event: Event) => event.target instanceof Element && event.target.closest(FIELDS) !== null;
const inDialog = (event: Event) => event.target instanceof Element && event.target.closest('[role=dialog]') !== null;

function handle(event: KeyboardEvent, actions: KeyActions): void {
  const { store, locked } = actions;
  const control = event.ctrlKey || event.metaKey;
  const key = event.key.toLowerCase();
  if (inDialog(event)) return;
  const run = (act: () => void) => {
    event.preventDefault();
    act();
  };
  if (control && key === 'enter') return run(actions.test);
  if (inField(event)) return;
  if (control && key === 'z' && !locked) return run(() => (event.shiftKey ? store.redo() : store.undo()));
  if (control && key === 'y' && !locked) return run(() => store.redo());
  if (control && key === 'a') return run(() => store.choose(store.doc.nodes.map((node) => node.id)));
  if (control && key === 'd' && !locked) return run(() => duplicateChosen(store));
  if (control) return;
  if (key === '/') return run(actions.search);
  if ((key === 'delete' || key === 'backspace') && !locked) return run(() => deleteChosen(actions));
  if (key === 'enter' && event.target instanceof Element && event.target.closest('.react-flow__node'))
    run(actions.open);
}

function copy(event: ClipboardEvent, actions: KeyActions): void {
  const { store, locked } = actions;
  if (inField(event) || inDialog(event) || store.chosen.size === 0 || document.getSelection()?.toString()) return;
  event.preventDefault();
  event.clipboardData?.setData('text/plain', JSON.stringify(cut(store.doc, store.chosen), null, 2));
  if (event.type === 'cut' && !locked) deleteChosen(actions);
}

function insert(event: ClipboardEvent, { store, locked }: KeyActions): void {
  if (inField(event) || inDialog(event) || locked) return;
  const clip = readClip(event.clipboardData?.getData('text/plain') ?? '');
  if (!clip) return;
  event.preventDefault();
  let ids: string[] = [];
  store.edit((doc) => {
    const made = paste(doc, clip, { x: APART, y: APART });
    ids = made.ids;
    return made.doc;
  });
  store.choose(ids);
}
