// Live operations: fetched once, then updated by hints, also after a reload.
import { useQuery } from '@tanstack/react-query';
import { api } from '../api/chat';
import { useHints } from './hints';
import { queryClient } from '../api/queries';
import { text } from '../api/looseValues';
import type { Operation, OperationStatus } from '../api/types';

const ENDED: ReadonlySet<string> = new Set(['completed', 'failed', 'cancelled']);
const LOOK_AGAIN = 15_000; // ms: hints may be lost

export const hasEnded = (status: OperationStatus): boolean => ENDED.has(status);

export function useOperation(id: string) {
  const key = ['operation', id];
  useHints((hint) => {
    if (hint.type === 'reconnected') void queryClient.invalidateQueries({ queryKey: key });
    if (hint.type !== 'operation.updated' || hint.id !== id) return;
    if (ENDED.has(hint.status ?? '')) void queryClient.invalidateQueries({ queryKey: key });
    else queryClient.setQueryData<Operation>(key, (known) => known && { ...known, ...progressIn(hint) });
  });
  return useQuery({
    queryKey: key,
    queryFn: () => api.operation(id),
    enabled: id !== '',
    refetchInterval: (query) => (query.state.data && hasEnded(query.state.data.status) ? false : LOOK_AGAIN),
  });
}

function progressIn(hint: Record<string, unknown>): Pick<Operation, 'status' | 'progress' | 'message'> {
  return { status: hint.status as OperationStatus, progress: Number(hint.progress ?? 0), message: text(hint.message) };
}
