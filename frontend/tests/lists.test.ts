import { describe, expect, test } from 'vitest';
import { formatter } from '../src/i18n/format';
import rawAsText from '../src/markdown/rawAsText';
import type { SessionRow } from '../src/api/types';
import { workspaceLinks } from '../src/markdown/workspaceLinks';
import { grouped } from '../src/sessions/groups';

describe('conversations in groups', () => {
  const now = new Date(2026, 4, 20, 15);
  const row = (id: string, daysAgo: number, pinned = false): SessionRow => ({
    id,
    title: id,
    status: 'idle',
    needs_you: false,
    unread: false,
    pinned,
    model: '',
    parent: null,
    forked_from: null,
    created_at: '',
    active_at: new Date(now.getTime() - daysAgo * 86_400_000).toISOString(),
  });
  test('by how long ago they were used, the pinned ones first', () => {
    const found = grouped(
      [row('a', 0), row('b', 1), row('c', 5), row('d', 20), row('e', 300), row('p', 300, true)],
      now,
    );
    expect(found.map((group) => [group.name, group.sessions.map((session) => session.id).join()])).toEqual([
      ['sessions.pinned', 'p'],
      ['sessions.today', 'a'],
      ['sessions.yesterday', 'b'],
      ['sessions.thisWeek', 'c'],
      ['sessions.thisMonth', 'd'],
      ['sessions.older', 'e'],
    ]);
  });
  test('a clock that is ahead of ours is today', () => {
    expect(grouped([row('a', -1)], now)[0]?.name).toBe('sessions.today');
  });
});

describe('references to files', () => {
  const id = '0b9c8a5e-1111-4222-8333-444455556666';
  const link = (children: object[], tagName = 'p') => {
    const tree = { type: 'root', children: [{ type: 'element', tagName, properties: {}, children }] };
    workspaceLinks()(tree as never);
    return JSON.stringify(tree);
  };
  test('in plain words become links', () => {
    expect(link([{ type: 'text', value: `see workspace://${id}#image/png there` }])).toContain(
      `"href":"/api/files/${id}/content"`,
    );
  });
  test('in pictures become addresses', () => {
    const picture = { type: 'element', tagName: 'img', properties: { src: `workspace://${id}` }, children: [] };
    expect(link([picture])).toContain(`"src":"/api/files/${id}/content"`);
  });
  test('in code stay as they are', () => {
    expect(link([{ type: 'text', value: `workspace://${id}` }], 'code')).not.toContain('href');
  });
  test('that are nonsense stay as they are', () => {
    expect(link([{ type: 'text', value: 'workspace://../../etc' }])).not.toContain('href');
  });
});

test('HTML is words', () => {
  const tree = {
    type: 'root',
    children: [
      { type: 'raw', value: '<script>x</script>' },
      { type: 'element', tagName: 'p', children: [{ type: 'raw', value: '<b>' }] },
    ],
  };
  rawAsText()(tree);
  expect(JSON.stringify(tree)).not.toContain('raw');
  expect(tree.children[0]).toMatchObject({ tagName: 'p', children: [{ type: 'text', value: '<script>x</script>' }] });
});

test('sizes, spans and sums as people write them', () => {
  const format = formatter('en');
  expect(format.size(0)).toBe('0 bytes');
  expect(format.size(1)).toBe('1 byte');
  expect(formatter('de').size(20)).toBe('20 Byte');
  expect(format.size(1_234_000)).toBe('1.2 MB');
  expect(format.span(42)).toBe('42 sec');
  expect(format.money(0.0123)).toBe('$0.0123');
  expect(format.money(12.5)).toBe('$12.50');
  expect(format.ago('2026-01-01T00:00:00Z', Date.parse('2026-01-01T02:00:00Z'))).toBe('2 hr. ago');
});

test('addresses of our own pages become links, those of others and of code do not', () => {
  const text = (value: string) => {
    const tree = {
      type: 'root',
      children: [{ type: 'element', tagName: 'p', properties: {}, children: [{ type: 'text', value }] }],
    };
    workspaceLinks()(tree);
    return JSON.stringify(tree);
  };
  expect(text('See /library/agents/0b9c. Good.')).toContain('"href":"/library/agents/0b9c"');
  expect(text('See https://example.com/library/agents')).not.toContain('href');
  expect(text('and/or a/c/d')).not.toContain('href');
});
