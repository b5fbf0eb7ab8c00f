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
export const hasEnded = (status: string): boolean => ENDED.has(status);
