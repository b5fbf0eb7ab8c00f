// The parts of an answer as they are read, each with a key that stays with it while the answer grows and is settled.
import type { Part } from '../api/types';
import { field } from '../api/looseValues';

export type KeyedPart = { part: Part; key: string };

/** Long work ends after the words that announced it, so its card comes last. Other parts keep their order. */
export function inReadingOrder(parts: readonly Part[]): KeyedPart[] {
  const seen = new Map<string, number>();
  const keyed = parts.map((part) => ({ part, key: keyOf(part, seen) }));
  return [...keyed.filter(({ part }) => !isLongWork(part)), ...keyed.filter(({ part }) => isLongWork(part))];
}

/** A call is known by its id, anything else by how many of its kind came before it. */
function keyOf(part: Part, seen: Map<string, number>): string {
  if ('toolCallId' in part) return part.toolCallId;
  const count = seen.get(part.type) ?? 0;
  seen.set(part.type, count + 1);
  return `${part.type} ${count}`;
}

function isLongWork(part: Part): boolean {
  return 'toolCallId' in part && part.state === 'output-available' && Boolean(field(part.output, 'operation_id'));
}
