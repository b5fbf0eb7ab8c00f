// What a proposal changes, for the canvas: the graph with both its additions and its removals, and a mark on each.
import type { Change } from './BlockNode';
import type { Doc } from './document';
import { merge, same } from './merge';

export type Preview = { doc: Doc; changes: ReadonlyMap<string, Change> };

/** The draft as it would be, with what would go still drawn. */
export function previewOf(doc: Doc, base: Doc, proposed: Doc): Preview {
  const after = merge(base, proposed, doc).doc;
  const changes = new Map<string, Change>();
  const compare = (before: Doc['nodes'] | Doc['links'], next: Doc['nodes'] | Doc['links']) => {
    const [old, fresh] = [new Map(before.map((one) => [one.id, one])), new Map(next.map((one) => [one.id, one]))];
    for (const [id, part] of fresh)
      if (!old.has(id)) changes.set(id, 'added');
      else if (!same(old.get(id), part)) changes.set(id, 'changed');
    for (const id of old.keys()) if (!fresh.has(id)) changes.set(id, 'removed');
  };
  compare(doc.nodes, after.nodes);
  compare(doc.links, after.links);
  const gone = <T extends { id: string }>(parts: T[]) => parts.filter((part) => changes.get(part.id) === 'removed');
  return {
    doc: { ...after, nodes: [...after.nodes, ...gone(doc.nodes)], links: [...after.links, ...gone(doc.links)] },
    changes,
  };
}
