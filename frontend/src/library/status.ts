// The statuses of executions and nodes, as shown to users.
import type { Tone } from '../components/Pieces';
import type { Key } from '../i18n';

const TONES: Record<string, Tone> = {
  INCOMPLETE: 'calm',
  QUEUED: 'calm',
  RUNNING: 'busy',
  REVIEW: 'attention',
  COMPLETED: 'good',
  FAILED: 'wrong',
  TERMINATED: 'calm',
};
const NAMES: Record<string, Key> = {
  INCOMPLETE: 'execution.incomplete',
  QUEUED: 'execution.queued',
  RUNNING: 'execution.running',
  REVIEW: 'execution.review',
  COMPLETED: 'execution.completed',
  FAILED: 'execution.failed',
  TERMINATED: 'execution.terminated',
};
const ENDED = new Set(['COMPLETED', 'FAILED', 'TERMINATED']);

export type NodeState = { status: string; progress?: number };
export type NodeStates = ReadonlyMap<string, NodeState>;

export const toneOf = (status: string): Tone => TONES[status] ?? 'calm';
export const statusKey = (status: string): Key => NAMES[status] ?? 'execution.incomplete';
/** The badge of a run: a rejected one ended as it should, but it is no success. */
export function badgeOf(run: { status: string; rejected?: boolean }): { tone: Tone; name: Key } {
  const rejected = run.rejected && run.status === 'COMPLETED';
  return rejected
    ? { tone: 'attention', name: 'execution.rejected' }
    : { tone: toneOf(run.status), name: statusKey(run.status) };
}

export const hasEnded = (status: string): boolean => ENDED.has(status);
