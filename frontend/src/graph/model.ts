// The drawing of an agent's graph: boxes with titles and positions, and lines between them. Pure functions.
import { field, list, number, record, text } from '../api/looseValues';

export type GraphNode = {
  id: string;
  block_id: string;
  input_default: Record<string, unknown>;
  position: Point | null;
};
export type GraphLink = {
  id: string;
  source: string;
  sourceName: string;
  sink: string;
  sinkName: string;
  isStatic: boolean;
};
export type Graph = { nodes: GraphNode[]; links: GraphLink[] };
export type Point = { x: number; y: number };
export type BlockNames = ReadonlyMap<string, { name: string; category: string }>;

export const BOX = { width: 212, height: 72 };
const GAP = { x: 76, y: 32 };
const NEARLY_THE_SAME = 20;

export function readGraph(value: unknown): Graph {
  return { nodes: list(field(value, 'nodes')).map(readNode), links: list(field(value, 'links')).map(readLink) };
}

function readNode(value: unknown): GraphNode {
  const place = field(field(value, 'metadata'), 'position');
  const [x, y] = [number(field(place, 'x')), number(field(place, 'y'))];
  return {
    id: text(field(value, 'id')),
    block_id: text(field(value, 'block_id')),
    input_default: record(field(value, 'input_default')),
    position: x === null || y === null ? null : { x, y },
  };
}

function readLink(value: unknown, place: number): GraphLink {
  return {
    id: text(field(value, 'id')) || `link-${place}`,
    source: text(field(value, 'source_id')),
    sourceName: text(field(value, 'source_name')),
    sink: text(field(value, 'sink_id')),
    sinkName: text(field(value, 'sink_name')),
    isStatic: field(value, 'is_static') === true,
  };
}

/** The title of a box: the block's name, and the name of an input or output. */
export function titleOf(node: GraphNode, names: BlockNames): { title: string; about: string } {
  const block = names.get(node.block_id)?.name ?? (names.size ? node.block_id.slice(0, 8) : '…');
  const own = text(node.input_default.name) || text(node.input_default.title);
  return own ? { title: own, about: block } : { title: block, about: names.get(node.block_id)?.category ?? '' };
}

/** The label of a line: the last part of the pin's name (`values_#_name` is the `name` of the values). */
export function carries(link: GraphLink): string {
  return link.sinkName.split(/_[#$@]_/).at(-1) ?? '';
}

/** The position of each box: as saved, or in columns by distance if that cannot be read. */
export function places(graph: Graph): Map<string, Point> {
  const given = graph.nodes.every((node) => node.position);
  const kept = new Map(graph.nodes.map((node) => [node.id, node.position ?? { x: 0, y: 0 }]));
  return given && !overlaps([...kept.values()]) && !tangled(graph, kept) ? closer(kept) : columns(graph);
}

/** The same layout, more compact: editors with larger boxes leave more space between them. */
function closer(kept: Map<string, Point>): Map<string, Point> {
  const points = [...kept.values()];
  const x = Math.min(1, (BOX.width + GAP.x) / smallestGap(points.map((point) => point.x)));
  const y = Math.min(1, (BOX.height + GAP.y) / smallestGap(points.map((point) => point.y)));
  const moved = new Map([...kept].map(([id, point]) => [id, { x: point.x * x, y: point.y * y }]));
  return overlaps([...moved.values()]) ? kept : moved;
}

function smallestGap(values: number[]): number {
  const sorted = [...new Set(values)].sort((one, two) => one - two);
  const gaps = sorted.slice(1).map((value, place) => value - sorted[place]!);
  return Math.min(...gaps.filter((gap) => gap > NEARLY_THE_SAME), Number.MAX_SAFE_INTEGER);
}

/** Whether a line would run backwards, or behind an unrelated box. */
function tangled(graph: Graph, at: ReadonlyMap<string, Point>): boolean {
  return graph.links.some((link) => {
    const [from, to] = [at.get(link.source), at.get(link.sink)];
    if (!from || !to || link.source === link.sink) return false;
    if (to.x < from.x + BOX.width) return true;
    return [...at].some(([id, box]) => id !== link.source && id !== link.sink && hides(box, from, to));
  });
}

/** Whether a box lies on the straight line from one box to another. */
function hides(box: Point, from: Point, to: Point): boolean {
  const [start, middle] = [from.x + BOX.width, box.x + BOX.width / 2];
  if (middle <= start || middle >= to.x) return false;
  const line = from.y + ((middle - start) / (to.x - start)) * (to.y - from.y);
  return Math.abs(box.y - line) < BOX.height / 2;
}

function overlaps(points: Point[]): boolean {
  return points.some((one, place) =>
    points.slice(place + 1).some((two) => Math.abs(one.x - two.x) < BOX.width && Math.abs(one.y - two.y) < BOX.height),
  );
}

/** The size of a drawing with these positions. */
export function sizeOf(places: ReadonlyMap<string, Point>): { width: number; height: number } {
  const extent = (values: number[]) => (values.length ? Math.max(...values) - Math.min(...values) : 0);
  const points = [...places.values()];
  return {
    width: extent(points.map((point) => point.x)) + BOX.width,
    height: extent(points.map((point) => point.y)) + BOX.height,
  };
}

/** Puts each node one column (or row) after its furthest predecessor; a cycle is cut where it closes. */
export function columns(graph: Graph, downward = false): Map<string, Point> {
  const before = new Map<string, string[]>(graph.nodes.map((node) => [node.id, []]));
  for (const link of graph.links)
    if (before.has(link.sink) && before.has(link.source)) before.get(link.sink)!.push(link.source);
  const column = new Map<string, number>();
  const depth = (id: string, path: ReadonlySet<string>): number => {
    const known = column.get(id);
    if (known !== undefined) return known;
    const sources = before.get(id)!.filter((source) => !path.has(source));
    const found = sources.length
      ? 1 + Math.max(...sources.map((source) => depth(source, new Set([...path, source]))))
      : 0;
    column.set(id, found);
    return found;
  };
  const taken = new Map<number, number>();
  return new Map(
    graph.nodes.map((node) => {
      const at = depth(node.id, new Set([node.id]));
      const row = taken.get(at) ?? 0;
      taken.set(at, row + 1);
      const [x, y] = downward ? [row, at] : [at, row];
      return [node.id, { x: x * (BOX.width + GAP.x), y: y * (BOX.height + GAP.y) }];
    }),
  );
}
