// A live execution: fetched with its nodes, refreshed by hints, and polled in case a hint is lost.
import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { useGathered } from '../api/queries';
import { libraryApi } from './api';
import { hasEnded, type NodeStates } from './status';

const LOOK_AGAIN = 10_000;

export function useExecution(id: string) {
  const found = useQuery({
    queryKey: ['execution', id],
    queryFn: () => libraryApi.execution(id),
    enabled: id !== '',
    refetchInterval: (query) => (query.state.data && hasEnded(query.state.data.status) ? false : LOOK_AGAIN),
  });
  useGathered(
    (hint) =>
      (hint.type === 'execution.updated' && hint.id === id) ||
      hint.type === 'reconnected' ||
      hint.type === 'review.requested' ||
      hint.type === 'review.decided',
    () => void found.refetch(),
  );
  const nodes = found.data?.nodes;
  const states = useMemo(
    (): NodeStates =>
      new Map((nodes ?? []).map((run) => [run.node_id, { status: run.status, progress: run.progress }])),
    [nodes],
  );
  return { ...found, states };
}
