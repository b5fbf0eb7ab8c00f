// The graph that is edited: agent JSON as the server stores it, unknown fields included. Pure functions, each of which
// returns a new document that shares what did not change.
import { newId } from '../browser/ids';
import { number, record } from '../api/looseValues';
import { columns, type Point, readGraph } from '../graph/model';

export type NodeDoc = {
  id: string;
  block_id: string;
  input_default: Record<string, unknown>;
  metadata: Record<string, unknown>;
  [more: string]: unknown;
};
export type LinkDoc = {
  id: string;
  source_id: string;
  source_name: string;
  sink_id: string;
  sink_name: string;
  is_static: boolean;
  [more: string]: unknown;
};
export type Doc = { nodes: NodeDoc[]; links: LinkDoc[]; [more: string]: unknown };
export type Clip = { nodes: NodeDoc[]; links: LinkDoc[] };
export type Ends = Pick<LinkDoc, 'source_id' | 'source_name' | 'sink_id' | 'sink_name'>;

export const positionOf = (node: NodeDoc): Point => {
  const place = record(node.metadata.position);
  return { x: number(place.x) ?? 0, y: number(place.y) ?? 0 };
};

const shownPlaces = new WeakMap<Doc, ReadonlyMap<string, Point>>();
const SPREAD = { x: 1.25, y: 2.1 }; // the cards here are larger than the boxes of the drawing

/** Where each node is shown: as saved, or in columns by the flow of data where nothing is saved. */
export function placesOf(doc: Doc): ReadonlyMap<string, Point> {
  const known = shownPlaces.get(doc);
  if (known) return known;
  const isPlaced = (node: NodeDoc) => number(record(node.metadata.position).x) !== null;
  const spread = doc.nodes.every(isPlaced) ? null : columns(readGraph(doc));
  const placeOf = (node: NodeDoc): Point => {
    const at = isPlaced(node) ? undefined : spread?.get(node.id);
    return at ? { x: Math.round(at.x * SPREAD.x), y: Math.round(at.y * SPREAD.y) } : positionOf(node);
  };
  const found = new Map(doc.nodes.map((node) => [node.id, placeOf(node)]));
  shownPlaces.set(doc, found);
  return found;
}

export function makeNode(block: string, at: Point, values: Record<string, unknown> = {}): NodeDoc {
  return { id: newId(), block_id: block, input_default: values, metadata: { position: rounded(at) } };
}

export function addNode(doc: Doc, node: NodeDoc): Doc {
  return { ...doc, nodes: [...doc.nodes, node] };
}

export function changeNode(doc: Doc, id: string, change: (node: NodeDoc) => NodeDoc): Doc {
  return { ...doc, nodes: doc.nodes.map((node) => (node.id === id ? change(node) : node)) };
}

/** A value of a pin; `undefined` takes it away, so that the block's default holds. */
export function setValue(doc: Doc, id: string, pin: string, value: unknown): Doc {
  return changeNode(doc, id, (node) => {
    const { [pin]: _, ...rest } = node.input_default;
    return { ...node, input_default: value === undefined ? rest : { ...node.input_default, [pin]: value } };
  });
}

export function setName(doc: Doc, id: string, name: string): Doc {
  return changeNode(doc, id, (node) => {
    const { customized_name: _, ...rest } = node.metadata;
    return { ...node, metadata: name ? { ...node.metadata, customized_name: name } : rest };
  });
}

export function moveNodes(doc: Doc, to: ReadonlyMap<string, Point>): Doc {
  return {
    ...doc,
    nodes: doc.nodes.map((node) => {
      const at = to.get(node.id);
      return at ? { ...node, metadata: { ...node.metadata, position: rounded(at) } } : node;
    }),
  };
}

export function remove(doc: Doc, nodes: ReadonlySet<string>, links: ReadonlySet<string>): Doc {
  const stays = (link: LinkDoc) => !links.has(link.id) && !nodes.has(link.source_id) && !nodes.has(link.sink_id);
  return { ...doc, nodes: doc.nodes.filter((node) => !nodes.has(node.id)), links: doc.links.filter(stays) };
}

/** Connects two pins; what was linked to the same input before is replaced, as one input has one source. */
export function connect(doc: Doc, ends: Ends, isStatic: boolean): Doc {
  const link: LinkDoc = { id: newId(), ...ends, is_static: isStatic };
  const others = doc.links.filter((one) => one.sink_id !== ends.sink_id || one.sink_name !== ends.sink_name);
  return { ...doc, links: [...others, link] };
}

export function disconnect(doc: Doc, link: string): Doc {
  return remove(doc, new Set(), new Set([link]));
}

/** The chosen nodes and the links between them, for the clipboard. */
export function cut(doc: Doc, chosen: ReadonlySet<string>): Clip {
  const places = placesOf(doc);
  return {
    nodes: doc.nodes
      .filter((node) => chosen.has(node.id))
      .map((node) => ({ ...node, metadata: { ...node.metadata, position: places.get(node.id) } })),
    links: doc.links.filter((link) => chosen.has(link.source_id) && chosen.has(link.sink_id)),
  };
}

/** Nodes and links from the clipboard under new ids, moved a little so that both can be seen. */
export function paste(doc: Doc, clip: Clip, by: Point): { doc: Doc; ids: string[] } {
  const ids = new Map(clip.nodes.map((node) => [node.id, newId()]));
  const nodes = clip.nodes.map((node) => {
    const at = positionOf(node);
    const position = rounded({ x: at.x + by.x, y: at.y + by.y });
    return { ...structuredClone(node), id: ids.get(node.id)!, metadata: { ...node.metadata, position } };
  });
  const links = clip.links
    .filter((link) => ids.has(link.source_id) && ids.has(link.sink_id))
    .map((link) => ({
      ...link,
      id: newId(),
      source_id: ids.get(link.source_id)!,
      sink_id: ids.get(link.sink_id)!,
    }));
  return {
    doc: { ...doc, nodes: [...doc.nodes, ...nodes], links: [...doc.links, ...links] },
    ids: nodes.map((node) => node.id),
  };
}

/** What a text from the clipboard holds: nodes copied here, or a whole agent. */
export function readClip(text: string): Clip | null {
  try {
    const value = record(JSON.parse(text));
    const nodes = Array.isArray(value.nodes) ? value.nodes.map(readNode) : [];
    if (nodes.length === 0 || nodes.some((node) => node === null)) return null;
    return { nodes: nodes as NodeDoc[], links: (Array.isArray(value.links) ? value.links : []) as LinkDoc[] };
  } catch {
    return null;
  }
}

function readNode(value: unknown): NodeDoc | null {
  const node = record(value);
  if (typeof node.id !== 'string' || typeof node.block_id !== 'string') return null;
  return {
    ...node,
    id: node.id,
    block_id: node.block_id,
    input_default: record(node.input_default),
    metadata: record(node.metadata),
  };
}

export type Side = 'left' | 'top' | 'row' | 'column';

/** The positions that put the chosen nodes in line, or spread them evenly. */
export function align(doc: Doc, chosen: ReadonlySet<string>, side: Side): ReadonlyMap<string, Point> {
  const nodes = doc.nodes.filter((node) => chosen.has(node.id));
  const places = placesOf(doc);
  const at = new Map(nodes.map((node) => [node.id, places.get(node.id)!]));
  const axis = side === 'left' || side === 'column' ? 'x' : 'y';
  if (side === 'left' || side === 'top') {
    const least = Math.min(...[...at.values()].map((point) => point[axis]));
    return new Map([...at].map(([id, point]) => [id, { ...point, [axis]: least }]));
  }
  const other = axis === 'x' ? 'y' : 'x';
  const sorted = [...at].sort(([, one], [, two]) => one[other] - two[other]);
  const [first, last] = [sorted[0]?.[1][other] ?? 0, sorted.at(-1)?.[1][other] ?? 0];
  const step = sorted.length > 1 ? (last - first) / (sorted.length - 1) : 0;
  return new Map(sorted.map(([id, point], place) => [id, { ...point, [other]: first + place * step }]));
}

const rounded = ({ x, y }: Point): Point => ({ x: Math.round(x), y: Math.round(y) });
