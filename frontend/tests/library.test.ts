import { describe, expect, test } from 'vitest';
import { bars, labelled, scaleTop } from '../src/account/chart';
import { BOX, carries, columns, places, readGraph, titleOf } from '../src/graph/model';
import type { NodeRun } from '../src/library/api';
import { fieldsOf, initialOf, parse, problemsIn, takesSecrets } from '../src/library/schema';
import { spans } from '../src/library/timeline';

describe('a form from a schema', () => {
  const fields = fieldsOf({
    type: 'object',
    required: ['name', 'count'],
    properties: {
      name: { type: 'string', title: 'Who', format: 'short-text' },
      count: { type: 'integer' },
      size: { enum: ['S', 'M'], default: 'M' },
      rows: { type: 'array', advanced: true },
      loud: { type: 'boolean' },
      key: { type: 'string', secret: true },
      day: { type: 'string', format: 'date' },
    },
  });
  test('has a field of the right kind for each property', () => {
    expect(fields.map((one) => [one.name, one.kind])).toEqual([
      ['name', 'line'],
      ['count', 'number'],
      ['size', 'choice'],
      ['rows', 'json'],
      ['loud', 'flag'],
      ['key', 'secret'],
      ['day', 'date'],
    ]);
    expect(fields[0]).toMatchObject({ label: 'Who', required: true });
  });
  test('does not ask for credentials', () => {
    expect(fieldsOf({ properties: { login: { type: 'object', format: 'credentials' } }, required: ['login'] })).toEqual(
      [],
    );
  });
  test('starts with the defaults', () => {
    expect(initialOf(fields)).toMatchObject({ name: '', size: 'M' });
  });
  test('gives values in the types of the schema, and leaves out what was left out', () => {
    const parsed = parse(fields, { name: 'Anna', count: '3', size: 'M', rows: '[1]', loud: 'true', key: '' });
    expect(parsed).toEqual({ values: { name: 'Anna', count: 3, size: 'M', rows: [1], loud: true }, problems: {} });
  });
  test('names every problem at once', () => {
    const parsed = parse(fields, { count: '1.5', rows: '[', size: '' });
    expect(parsed.problems).toEqual({ name: 'needed', count: 'noNumber', rows: 'noJson' });
  });
  test.each([undefined, {}, { properties: {} }])('of nothing (%j) has no fields', (schema) => {
    expect(fieldsOf(schema)).toEqual([]);
  });
  test.each([
    { secret: true },
    { secret: true, enum: ['a'] },
    { format: 'secret' },
    { anyOf: [{ format: 'password' }, { type: 'null' }] },
  ])('with %j takes a secret', (one) => {
    expect(takesSecrets({ properties: { name: { type: 'string' }, one } })).toBe(true);
  });
  test.each([{}, { properties: { key: { type: 'string', secret: false } } }])('of %j takes none', (schema) => {
    expect(takesSecrets(schema)).toBe(false);
  });
  test('shows what the server says at the field it speaks of', () => {
    expect(problemsIn({ 'inputs.name': ['Too long.'], cron: ['Odd.'] })).toEqual({ name: 'Too long.', cron: 'Odd.' });
  });
});

describe('a graph', () => {
  const graph = (links: [string, string][], positions: (object | undefined)[] = []) =>
    readGraph({
      nodes: ['a', 'b', 'c'].map((id, place) => ({
        id,
        block_id: `block-${id}`,
        metadata: { position: positions[place] },
      })),
      links: links.map(([source_id, sink_id]) => ({ source_id, sink_id, source_name: 'x', sink_name: 'y' })),
    });
  test('without places is drawn in columns, by how far from the start', () => {
    const at = places(
      graph([
        ['a', 'b'],
        ['b', 'c'],
        ['a', 'c'],
      ]),
    );
    expect(at.get('a')!.x).toBeLessThan(at.get('b')!.x);
    expect(at.get('b')!.x).toBeLessThan(at.get('c')!.x);
  });
  test('keeps the places its author gave, unless boxes lie on each other', () => {
    const apart = [
      { x: 0, y: 0 },
      { x: 280, y: 0 },
      { x: 0, y: 100 },
    ];
    expect(places(graph([], apart)).get('b')).toEqual({ x: 280, y: 0 });
    const heap = places(
      graph(
        [],
        [
          { x: 0, y: 0 },
          { x: 1, y: 1 },
          { x: 0, y: 500 },
        ],
      ),
    );
    expect(heap.get('a')).not.toEqual(heap.get('b'));
  });
  test('with much air between its boxes is drawn closer, in the same order', () => {
    const at = places(
      graph(
        [],
        [
          { x: 0, y: 0 },
          { x: 1100, y: 0 },
          { x: 550, y: 900 },
        ],
      ),
    );
    expect(at.get('b')!.x).toBe(2 * (BOX.width + 76));
    expect(at.get('c')!.x).toBe(BOX.width + 76);
  });
  test('whose lines would run backwards or behind a box is drawn in columns', () => {
    const row = [
      { x: 0, y: 0 },
      { x: 300, y: 0 },
      { x: 600, y: 0 },
    ];
    expect(
      places(
        graph(
          [
            ['a', 'b'],
            ['b', 'c'],
          ],
          row,
        ),
      ).get('c'),
    ).toEqual({ x: 2 * (BOX.width + 76), y: 0 });
    const behind = places(
      graph(
        [
          ['a', 'c'],
          ['b', 'c'],
        ],
        row,
      ),
    );
    expect(behind.get('b')).toMatchObject({ x: 0 });
    expect(behind.get('b')!.y).toBeGreaterThan(0);
    const backwards = places(
      graph(
        [
          ['a', 'c'],
          ['c', 'b'],
        ],
        row,
      ),
    );
    expect(backwards.get('b')!.x).toBeGreaterThan(backwards.get('c')!.x);
  });
  test('says on a line what it carries', () => {
    const link = graph([['a', 'b']]).links[0]!;
    expect(carries({ ...link, sinkName: 'values_#_name' })).toBe('name');
    expect(carries(link)).toBe('y');
  });
  test('with a cycle is drawn all the same', () => {
    expect(
      columns(
        graph([
          ['a', 'b'],
          ['b', 'a'],
          ['c', 'c'],
        ]),
      ).size,
    ).toBe(3);
  });
  test('with links to nowhere is drawn all the same', () => {
    expect(columns(graph([['a', 'ghost']])).size).toBe(3);
  });
  test.each([null, 'x', { nodes: 3 }])('of nonsense (%j) is empty', (value) => {
    expect(readGraph(value)).toEqual({ nodes: [], links: [] });
  });
  test('calls a node by its own name where it has one, else by its block', () => {
    const names = new Map([['block-a', { name: 'Agent Input', category: 'Input' }]]);
    const node = graph([]).nodes[0]!;
    expect(titleOf(node, names)).toEqual({ title: 'Agent Input', about: 'Input' });
    expect(titleOf({ ...node, input_default: { name: 'person' } }, names)).toEqual({
      title: 'person',
      about: 'Agent Input',
    });
  });
});

describe('a timeline', () => {
  const run = (id: string, started: number | null, ended: number | null): NodeRun => ({
    id,
    node_id: id,
    block_id: '',
    status: 'COMPLETED',
    inputs: {},
    outputs: [],
    error: null,
    progress: 1,
    started_at: started === null ? null : new Date(started).toISOString(),
    ended_at: ended === null ? null : new Date(ended).toISOString(),
  });
  test('puts runs on one line of time, in the order they began', () => {
    const found = spans([run('late', 1500, 2000), run('early', 1000, 1500)], 2000);
    expect(found.map((span) => [span.run.id, span.start, span.width])).toEqual([
      ['early', 0, 0.5],
      ['late', 0.5, 0.5],
    ]);
  });
  test('draws what runs up to now, and what waits not at all', () => {
    const found = spans([run('running', 1000, null), run('waiting', null, null)], 3000);
    expect(found[0]).toMatchObject({ width: 1, seconds: 2 });
    expect(found[1]).toMatchObject({ width: 0, seconds: null });
  });
  test('of nothing is empty', () => {
    expect(spans([], 1000)).toEqual([]);
  });
});

describe('a chart', () => {
  test('has its highest bar as high as the box', () => {
    expect(bars([1, 4, 0], 300, 100).map((bar) => bar.height)).toEqual([25, 100, 0]);
  });
  test('of nothing but zeros has no bars', () => {
    expect(bars([0, 0], 100, 50).every((bar) => bar.height === 0)).toBe(true);
    expect(scaleTop([0])).toBe(1);
  });
  test('has a round top at or above the highest value', () => {
    expect([0.013, 7, 230, 1000].map((value) => scaleTop([value]))).toEqual([0.015, 8, 250, 1000]);
  });
  test('labels the last day always, and few enough', () => {
    expect(labelled(30, 8)).toEqual([1, 5, 9, 13, 17, 21, 25, 29]);
    expect(labelled(3, 8)).toEqual([0, 1, 2]);
  });
});
