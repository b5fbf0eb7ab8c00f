import { describe, expect, test } from 'vitest';
import { filesSeen, keyOf, type Loaded, steady, withNewest, withOlder } from '../src/messages/history';
import type { ChatMessage } from '../src/api/types';

const said = (id: string, text = id, role: 'user' | 'assistant' = 'assistant'): ChatMessage => ({
  id,
  role,
  parts: [{ type: 'text', text }],
});
const loaded = (ids: string, before: string | null = null): Loaded => ({
  messages: ids.split('').map((id) => said(id)),
  before,
});
const ids = (found: Loaded) => found.messages.map((message) => message.id).join('');

describe('the newest page', () => {
  test('takes the place of what is shown from its first message on, and what is older stays', () => {
    expect(ids(withNewest(loaded('abcd', 'a'), loaded('cdef', 'c')))).toBe('abcdef');
  });
  test('keeps the place where older messages go on', () => {
    expect(withNewest(loaded('abcd', 'a'), loaded('cdef', 'c')).before).toBe('a');
  });
  test('that has everything replaces everything', () => {
    expect(withNewest(loaded('abcd', 'a'), loaded('xy'))).toMatchObject({ before: null });
    expect(ids(withNewest(loaded('abcd', 'a'), loaded('xy')))).toBe('xy');
  });
  test('that does not join on to what is shown is taken alone, rather than leave a gap', () => {
    const found = withNewest(loaded('ab', 'a'), loaded('yz', 'y'));
    expect(ids(found)).toBe('yz');
    expect(found.before).toBe('y');
  });
  test('drops what was answered anew', () => {
    expect(ids(withNewest(loaded('abcd', null), loaded('abx', null)))).toBe('abx');
  });
  test('leaves the same object where nothing changed, so that nothing is drawn again', () => {
    const shown = loaded('ab');
    const found = withNewest(shown, { messages: [said('a'), said('b', 'changed')], before: null });
    expect(found.messages[0]).toBe(shown.messages[0]);
    expect(found.messages[1]).not.toBe(shown.messages[1]);
  });
  test('does not set back the answer that is streaming', () => {
    const live = said('b', 'long and growing');
    const found = withNewest(loaded('ab'), { messages: [said('a'), said('b', 'lo')], before: null }, live);
    expect(found.messages[1]).toBe(live);
  });
  test('puts a question before the answer that streams already', () => {
    const live = said('b');
    const found = withNewest(
      { messages: [live], before: null },
      { messages: [said('q', 'q', 'user')], before: null },
      live,
    );
    expect(ids(found)).toBe('qb');
  });
});

test('an older page goes in front, without doubles', () => {
  const found = withOlder(loaded('cd', 'c'), loaded('abc', null));
  expect(ids(found)).toBe('abcd');
  expect(found.before).toBeNull();
});

describe('a replay', () => {
  test('shows what stood there until it has caught up', () => {
    const shown = said('a', 'one two three');
    expect(steady(shown, said('a', ''))).toBe(shown);
    expect(steady(shown, said('a', 'one two'))).toBe(shown);
    const further = said('a', 'one two three four');
    expect(steady(shown, further)).toBe(further);
  });
  test('of another answer is shown at once', () => {
    const other = said('b', '');
    expect(steady(said('a', 'one'), other)).toBe(other);
  });
});

test('a question keeps its key when it gets its place in the conversation', () => {
  expect(keyOf({ ...said('m', 'x', 'user'), metadata: { turn_id: 't' } })).toBe('user:t');
  expect(keyOf({ ...said('m', 'x', 'user'), metadata: { turn_id: 't', steered_step: 0 } })).toBe('m');
  expect(keyOf(said('a'))).toBe('a');
});

test('files seen are gathered from metadata and from the stream', () => {
  const streamed: ChatMessage = {
    id: 's',
    role: 'assistant',
    parts: [{ type: 'data-files-seen', data: { file_ids: ['two'] } }],
  };
  expect([...filesSeen([{ ...said('a'), metadata: { files_seen: ['one'] } }, streamed])]).toEqual(['one', 'two']);
});
