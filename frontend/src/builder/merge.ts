// Three-way merge of graphs: what one side left alone is taken from the other. Nodes and links are matched by id, the
// values and the metadata of a node one by one. Where both changed the same thing differently, mine is kept and told.
import type { Doc } from './document';

export type Conflict = { id: string; field: string; mine: unknown; theirs: unknown };
export type Merged = { doc: Doc; conflicts: Conflict[] };
type Part = { id: string; [more: string]: unknown };

const OPENED = new Set(['input_default', 'metadata']);

/** The changes from `base` to `mine`, made to `theirs`. */
export function merge(base: Doc, mine: Doc, theirs: Doc): Merged {
  if (base === mine || same(base, mine)) return { doc: theirs, conflicts: [] };
  if (base === theirs || same(base, theirs)) return { doc: mine, conflicts: [] };
  const conflicts: Conflict[] = [];
  const nodes = mergeParts(base.nodes, mine.nodes, theirs.nodes, conflicts);
  const kept = new Set(nodes.map((node) => node.id));
  const links = mergeParts(base.links, mine.links, theirs.links, conflicts).filter(
    (link) => kept.has(link.source_id) && kept.has(link.sink_id),
  );
  const rest = mergeFields('', without(base), without(mine), without(theirs), conflicts);
  return { doc: { ...rest, nodes, links }, conflicts };
}

const without = (doc: Doc): Record<string, unknown> =>
  Object.fromEntries(Object.entries(doc).filter(([name]) => name !== 'nodes' && name !== 'links'));

/** In the order of theirs; what only I added comes last. */
function mergeParts<T extends Part>(base: T[], mine: T[], theirs: T[], conflicts: Conflict[]): T[] {
  const [was, own] = [byId(base), byId(mine)];
  const there = byId(theirs);
  const found: T[] = [];
  for (const part of theirs) {
    const [before, here] = [was.get(part.id), own.get(part.id)];
    if (here) found.push(before ? mergePart(before, here, part, conflicts) : mergePart(part, here, part, conflicts));
    else if (!before)
      found.push(part); // they added it
    else if (!same(before, part)) {
      found.push(part); // I removed what they changed: the change is kept
      conflicts.push({ id: part.id, field: '', mine: undefined, theirs: part });
    }
  }
  for (const part of mine) {
    if (there.has(part.id)) continue;
    const before = was.get(part.id);
    if (!before)
      found.push(part); // I added it
    else if (!same(before, part)) {
      found.push(part); // they removed what I changed
      conflicts.push({ id: part.id, field: '', mine: part, theirs: undefined });
    }
  }
  return found;
}

function mergePart<T extends Part>(base: T, mine: T, theirs: T, conflicts: Conflict[]): T {
  if (mine === base || same(mine, base)) return theirs;
  if (theirs === base || same(theirs, base)) return mine;
  return mergeFields(mine.id, base, mine, theirs, conflicts) as T;
}

function mergeFields(
  id: string,
  base: Record<string, unknown>,
  mine: Record<string, unknown>,
  theirs: Record<string, unknown>,
  conflicts: Conflict[],
  path = '',
): Record<string, unknown> {
  const merged: Record<string, unknown> = {};
  for (const name of new Set([...Object.keys(theirs), ...Object.keys(mine)])) {
    const [was, own, other] = [base[name], mine[name], theirs[name]];
    if (!path && OPENED.has(name) && isObject(own) && isObject(other)) {
      merged[name] = mergeFields(id, isObject(was) ? was : {}, own, other, conflicts, name);
      continue;
    }
    const value = same(own, was) ? other : own;
    if (!same(own, was) && !same(other, was) && !same(own, other))
      conflicts.push({ id, field: path ? `${path}.${name}` : name, mine: own, theirs: other });
    if (value !== undefined) merged[name] = value;
  }
  return merged;
}

const byId = <T extends Part>(parts: T[]): Map<string, T> => new Map(parts.map((part) => [part.id, part]));
const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Whether two JSON values are equal, whatever the order of their keys. */
export function same(one: unknown, two: unknown): boolean {
  if (one === two) return true;
  if (Array.isArray(one) && Array.isArray(two))
    return one.length === two.length && one.every((item, place) => same(item, two[place]));
  if (!isObject(one) || !isObject(two)) return false;
  const names = Object.keys(one);
  return names.length === Object.keys(two).length && names.every((name) => name in two && same(one[name], two[name]));
}
