// The cached data of the server, refetched when a hint says that it changed.
import { QueryClient, useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { useEffect, useMemo, useRef } from 'react';
import { api } from './chat';
import { type Hint, useHints } from '../live/hints';
import { ApiError } from './http';
import type { Page, SessionRow } from './types';

export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 5_000,
      retry: (count, error) => count < 3 && error instanceof ApiError && error.isOffline,
      networkMode: 'always', // the server may be on this machine
    },
    mutations: { networkMode: 'always' },
  },
});

export const OFFLINE = 'offline'; // what the server calls the model it brings along

export const useMe = () => useQuery({ queryKey: ['me'], queryFn: api.me, staleTime: 60_000 });
export const useConfig = () => useQuery({ queryKey: ['config'], queryFn: api.config, staleTime: 300_000 });

/** The conversations loaded so far. Pinned ones are among them however old they are. */
export function useSessions(search: string) {
  const found = usePages(['sessions', search], (cursor) => api.sessions(search, cursor), { steady: true });
  const pinned = useQuery({ queryKey: ['sessions', '', 'pinned'], queryFn: api.pinned, enabled: search === '' });
  const sessions = useMemo(
    () => unique([...((search === '' && pinned.data?.results) || []), ...(found.data ?? [])]),
    [found.data, pinned.data, search],
  );
  return { ...found, sessions };
}

/** A list of the API: the pages loaded so far as one, and `more` if there are others. `steady`: a new search shows the old rows until its own arrive. */
export function usePages<T>(
  queryKey: readonly unknown[],
  fetch: (cursor: string | null) => Promise<Page<T>>,
  { steady = false } = {},
) {
  const found = useInfiniteQuery({
    queryKey,
    queryFn: ({ pageParam }) => fetch(pageParam),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next,
    placeholderData: steady ? (before) => before : undefined,
  });
  const data = useMemo(() => found.data?.pages.flatMap((page) => page.results), [found.data]);
  const more = found.hasNextPage ? () => void found.fetchNextPage() : undefined;
  return { data, error: found.error, refetch: found.refetch, more, busy: found.isFetchingNextPage };
}

/** Removes duplicates: a session that is pinned, or became active between two requests, is on two pages. */
function unique(rows: SessionRow[]): SessionRow[] {
  return [...new Map(rows.map((row) => [row.id, row])).values()];
}

const LISTED = new Set([
  'session.updated',
  'turn.queued',
  'turn.running',
  'turn.finished',
  'review.requested',
  'review.decided',
  'reconnected',
]);
const GATHER = 200; // ms: hints come in swarms

/** Keeps the list of sessions up to date while the component is mounted. */
export function useFreshSessions(): void {
  useGathered(
    (hint) => LISTED.has(hint.type),
    () => void queryClient.invalidateQueries({ queryKey: ['sessions'] }),
  );
}

/** Calls a function once for a burst of hints. */
export function useGathered(concerns: (hint: Hint) => boolean, act: () => void): void {
  const timer = useRef(0);
  const latest = useRef(act);
  latest.current = act;
  useEffect(() => () => window.clearTimeout(timer.current), []);
  useHints((hint) => {
    if (!concerns(hint) || timer.current) return;
    timer.current = window.setTimeout(() => {
      timer.current = 0;
      latest.current();
    }, GATHER);
  });
}
