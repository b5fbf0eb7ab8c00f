// Toasts: short messages at the edge of the page that disappear automatically.
import { useSyncExternalStore } from 'react';

export type Toast = { id: number; text: string; tone: 'calm' | 'wrong' };

const STAY = 6000;
let toasts: readonly Toast[] = [];
let next = 0;
const watchers = new Set<() => void>();

export function toast(text: string, tone: Toast['tone'] = 'calm'): void {
  const id = ++next;
  set([...toasts, { id, text, tone }]);
  window.setTimeout(() => dismiss(id), STAY);
}

export function dismiss(id: number): void {
  set(toasts.filter((entry) => entry.id !== id));
}

export function useToasts(): readonly Toast[] {
  return useSyncExternalStore(watch, () => toasts);
}

function watch(changed: () => void): () => void {
  watchers.add(changed);
  return () => watchers.delete(changed);
}

function set(now: readonly Toast[]): void {
  toasts = now;
  for (const watcher of watchers) watcher();
}
