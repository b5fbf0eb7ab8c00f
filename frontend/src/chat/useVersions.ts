// Several answers to the same message: the newest stands in the conversation, the others can be looked at.
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api } from '../api/chat';
import type { ChatMessage } from '../api/types';

export type Versions = { shown: ChatMessage; place: number; count: number; turnTo: (place: number) => void };

/** The answer to show, and which of how many it is; a new answer shows itself. */
export function useVersions(message: ChatMessage): Versions {
  const versions = message.versions ?? [];
  const [chosen, setChosen] = useState<{ place: number; of: number } | null>(null);
  const newest = Math.max(versions.length - 1, 0);
  const place = chosen && chosen.of === versions.length ? chosen.place : newest;
  const turn = versions[place]?.turn_id ?? '';
  const { data } = useQuery({
    queryKey: ['answer', turn],
    queryFn: () => api.answer(turn),
    enabled: turn !== '' && place !== newest,
    staleTime: Infinity,
  });
  const older = place !== newest && data;
  return {
    shown: older || message,
    place: older ? place : newest,
    count: versions.length,
    turnTo: (to) => setChosen({ place: to, of: versions.length }),
  };
}
