import { describe, expect, test } from 'vitest';
import { align, connect, cut, type Doc, moveNodes, paste, readClip, remove, setValue } from '../src/builder/document';
import { merge } from '../src/builder/merge';
import { BuilderStore } from '../src/builder/store';
import { canFit, converterType, kindsOf } from '../src/builder/types';

const node = (id: string, values: Record<string, unknown> = {}, x = 0, y = 0) => ({
  id,
  block_id: 'block',
  input_default: values,
  metadata: { position: { x, y } },
});
const link = (id: string, source: string, sink: string) => ({
  id,
  source_id: source,
  source_name: 'out',
  sink_id: sink,
  sink_name: 'in',
  is_static: false,
});
const doc = (...nodes: ReturnType<typeof node>[]): Doc => ({ nodes, links: [], name: 'kept' });

describe('merge', () => {
  const base = doc(node('a', { one: 1, two: 2 }), node('b'));

  test('changes of different values of one node are both kept', () => {
    const merged = merge(base, setValue(base, 'a', 'one', 10), setValue(base, 'a', 'two', 20));
    expect(merged.doc.nodes[0]!.input_default).toEqual({ one: 10, two: 20 });
    expect(merged.conflicts).toEqual([]);
  });

  test('of two changes of the same value mine is kept and told', () => {
    const merged = merge(base, setValue(base, 'a', 'one', 10), setValue(base, 'a', 'one', 11));
    expect(merged.doc.nodes[0]!.input_default.one).toBe(10);
    expect(merged.conflicts).toEqual([{ id: 'a', field: 'input_default.one', mine: 10, theirs: 11 }]);
  });

  test('what one side added and the other removed goes both ways', () => {
    const mine = remove(base, new Set(['b']), new Set());
    const theirs = { ...base, nodes: [...base.nodes, node('c')] };
    expect(merge(base, mine, theirs).doc.nodes.map((one) => one.id)).toEqual(['a', 'c']);
  });

  test('what was changed there is not lost because it was removed here', () => {
    const merged = merge(base, remove(base, new Set(['a']), new Set()), setValue(base, 'a', 'one', 5));
    expect(merged.doc.nodes.map((one) => one.id)).toContain('a');
    expect(merged.conflicts).toHaveLength(1);
  });

  test('a link to a node that is gone goes with it', () => {
    const linked = { ...base, links: [link('l', 'a', 'b')] };
    expect(merge(base, linked, remove(base, new Set(['b']), new Set())).doc.links).toEqual([]);
  });

  test('a value that was taken away stays away', () => {
    const merged = merge(base, setValue(base, 'a', 'one', undefined), setValue(base, 'a', 'two', 3));
    expect(merged.doc.nodes[0]!.input_default).toEqual({ two: 3 });
  });
});

describe('history', () => {
  test('a thousand edits are undone to the very document and done again', () => {
    const first = doc(node('a'));
    const store = new BuilderStore(first);
    for (let number = 0; number < 1000; number += 1) store.edit((now) => setValue(now, 'a', 'v', number));
    const last = store.doc;
    for (let number = 0; number < 1000; number += 1) store.undo();
    expect(store.doc).toBe(first);
    for (let number = 0; number < 1000; number += 1) store.redo();
    expect(store.doc).toBe(last);
    store.redo();
    expect(store.doc).toBe(last);
  });

  test('typing in one field is one step until it is left', () => {
    const store = new BuilderStore(doc(node('a')));
    for (const text of ['H', 'He', 'Hel']) store.edit((now) => setValue(now, 'a', 'v', text), 'a v');
    store.undo();
    expect(store.doc.nodes[0]!.input_default).toEqual({});
    expect(store.read().canUndo).toBe(false);
  });

  test('undo takes back only what this person did', () => {
    const store = new BuilderStore(doc(node('a')));
    store.edit((now) => setValue(now, 'a', 'mine', 1));
    store.replace(setValue(store.doc, 'a', 'theirs', 2));
    store.undo();
    expect(store.doc.nodes[0]!.input_default).toEqual({ theirs: 2 });
  });
});

describe('document', () => {
  test('an input has one source', () => {
    const ends = { source_id: 'a', source_name: 'x', sink_id: 'c', sink_name: 'in' };
    const once = connect(doc(node('a'), node('b'), node('c')), ends, false);
    const twice = connect(once, { ...ends, source_id: 'b' }, true);
    expect(twice.links.map((one) => [one.source_id, one.is_static])).toEqual([['b', true]]);
  });

  test('what is pasted has new ids and keeps its inner links', () => {
    const from = { ...doc(node('a'), node('b'), node('c')), links: [link('l', 'a', 'b'), link('m', 'b', 'c')] };
    const clip = readClip(JSON.stringify(cut(from, new Set(['a', 'b']))))!;
    const { doc: after, ids } = paste(doc(), clip, { x: 5, y: 5 });
    expect(after.links.map((one) => [one.source_id, one.sink_id])).toEqual([ids]);
    expect(ids).not.toContain('a');
    expect(readClip('no JSON')).toBeNull();
    expect(readClip('{"nodes": [1]}')).toBeNull();
  });

  test('nodes are put in line and spread', () => {
    const three = doc(node('a', {}, 10, 0), node('b', {}, 90, 10), node('c', {}, 40, 100));
    const all = new Set(['a', 'b', 'c']);
    expect([...align(three, all, 'left').values()].map((at) => at.x)).toEqual([10, 10, 10]);
    const spread = moveNodes(three, align(three, all, 'column'));
    expect(spread.nodes.map((one) => (one.metadata.position as { y: number }).y)).toEqual([0, 50, 100]);
  });
});

describe('types', () => {
  test('pins fit as on the server', () => {
    expect(canFit({ type: 'array' }, { type: 'number' })).toBe(false);
    expect(canFit({ type: 'string' }, { type: 'object' })).toBe(true);
    expect(canFit({ type: 'number' }, { type: 'object' })).toBe(false);
    expect(canFit({ type: 'number' }, { type: 'object' }, true)).toBe(true);
    expect(canFit({}, { type: 'object' })).toBe(true);
    expect(kindsOf({ anyOf: [{ type: 'string' }, { type: 'null' }] })).toEqual(['string']);
    expect(converterType({ type: 'object' })).toBe('dictionary');
    expect(converterType({ type: 'string' })).toBe('');
  });
});
