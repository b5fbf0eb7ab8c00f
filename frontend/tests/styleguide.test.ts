import { describe, expect, test } from 'vitest';
import { BODY_TYPES } from '../src/cards/bodies';
import { readCall } from '../src/cards/call';
import { EXECUTIONS, OPERATIONS, RESULTS, REVIEWS } from '../src/styleguide/fixtures';

const calls = RESULTS.map(({ part }) => readCall(part));

const byName = (one: unknown, other: unknown) => String(one).localeCompare(String(other));

describe('the style guide', () => {
  test('shows every kind of result that has a body of its own', () => {
    const shown = new Set(calls.map((call) => call.result?.type));
    expect(BODY_TYPES.filter((type) => !shown.has(type))).toEqual([]);
  });
  test('shows each example once', () => {
    const names = RESULTS.map((example) => example.name);
    expect(names).toEqual([...new Set(names)]);
  });
  test('has what its examples speak of', () => {
    const known = new Set([...EXECUTIONS, ...OPERATIONS, ...REVIEWS].map(({ id }) => id));
    const named = calls.flatMap(({ result }) =>
      [result?.execution_id, result?.operation_id, result?.review_id].filter((id) => id !== undefined),
    );
    expect(named.filter((id) => !known.has(id as string))).toEqual([]);
  });
  test('shows executions and sub-sessions in every state', () => {
    const states = (type: string) =>
      new Set(calls.filter(({ result }) => result?.type === type).map(({ result }) => result?.status));
    expect([...states('execution_started')].toSorted(byName)).toEqual([
      'COMPLETED',
      'FAILED',
      'REVIEW',
      'RUNNING',
      'SCHEDULED',
    ]);
    expect([...states('sub_session_status')].toSorted(byName)).toEqual(['cancelled', 'completed', 'failed', 'running']);
  });
});
