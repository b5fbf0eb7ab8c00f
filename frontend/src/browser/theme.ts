// Light, dark or system theme; public/theme.js sets it before the first paint.
import { useCallback, useSyncExternalStore } from 'react';
import { recall, remember } from './storage';
import type { Theme } from '../api/types';

const watchers = new Set<() => void>();

export function currentTheme(): Theme {
  const kept = recall('theme');
  return kept === 'light' || kept === 'dark' ? kept : 'system';
}

export function setTheme(theme: Theme): void {
  remember('theme', theme === 'system' ? null : theme);
  if (theme === 'system') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  for (const watcher of watchers) watcher();
}

export function useTheme(): Theme {
  const watch = useCallback((changed: () => void) => {
    watchers.add(changed);
    return () => watchers.delete(changed);
  }, []);
  return useSyncExternalStore(watch, currentTheme);
}

export function useDark(): boolean {
  const theme = useTheme();
  const system = useSyncExternalStore(watchSystem, () => matchMedia('(prefers-color-scheme: dark)').matches);
  return theme === 'system' ? system : theme === 'dark';
}

function watchSystem(changed: () => void): () => void {
  const media = matchMedia('(prefers-color-scheme: dark)');
  media.addEventListener('change', changed);
  return () => media.removeEventListener('change', changed);
}
