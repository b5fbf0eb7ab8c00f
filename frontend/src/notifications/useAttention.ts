// How much waits for the person: in the title of the page, on its icon, and as a badge of the installed app.
import { useQuery } from '@tanstack/react-query';
import { useEffect } from 'react';
import { queryClient, useGathered, useMe } from '../api/queries';
import { setWaiting } from '../browser/pageTitle';
import { notificationsApi } from './api';

const CONCERNS = new Set(['session.updated', 'turn.finished', 'review.requested', 'review.decided', 'reconnected']);
type WithBadge = Navigator & { setAppBadge?: (count: number) => Promise<void> };

export function useAttention() {
  const me = useMe().data;
  const { data } = useQuery({
    queryKey: ['attention'],
    queryFn: notificationsApi.attention,
    enabled: me !== undefined,
    staleTime: 30_000,
  });
  return data;
}

/** Keeps title, icon and badge up to date while the component is mounted. */
export function useWaitingMarks(): void {
  const found = useAttention();
  const waiting = found ? found.reviews + found.questions + found.unread : 0;
  useGathered(
    (hint) => CONCERNS.has(hint.type),
    () => void queryClient.invalidateQueries({ queryKey: ['attention'] }),
  );
  useEffect(() => {
    setWaiting(waiting);
    void (navigator as WithBadge).setAppBadge?.(waiting).catch(() => undefined);
  }, [waiting]);
}
