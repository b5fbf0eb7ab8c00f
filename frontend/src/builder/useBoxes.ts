// The boxes and lines that the canvas draws, each the same object as before unless something about it changed: while a
// node is dragged, nothing else is rendered again.
import type { Edge } from '@xyflow/react';
import { useMemo, useRef } from 'react';
import type { NodeStates } from '../library/status';
import type { Problem } from './api';
import type { Box, BoxData, Change } from './BlockNode';
import { type Doc, type LinkDoc, type NodeDoc, placesOf } from './document';
import type { Point } from '../graph/model';
import { type Blocks, linksOf, pinsOf, shownInputs, titleOf } from './pins';
import type { Say } from './words';

export type Looks = {
  blocks: Blocks;
  chosen: ReadonlySet<string>;
  problems: readonly Problem[];
  states: NodeStates;
  pinned: Readonly<Record<string, unknown>>;
  changes: ReadonlyMap<string, Change>;
};
type Kept = { box: Box; key: readonly unknown[] };

const NO_LINKS: LinkDoc[] = [];

export function useBoxes(doc: Doc, looks: Looks, say: Say): Box[] {
  const kept = useRef(new Map<string, Kept>());
  const { blocks, chosen, problems, states, pinned, changes } = looks;
  return useMemo(() => {
    const links = linksOf(doc);
    const places = placesOf(doc);
    const counts = new Map<string, number>();
    for (const { node_id } of problems) if (node_id) counts.set(node_id, (counts.get(node_id) ?? 0) + 1);
    const next = new Map<string, Kept>();
    const boxes = doc.nodes.map((node) => {
      const [into, from] = [links.into.get(node.id) ?? NO_LINKS, links.from.get(node.id) ?? NO_LINKS];
      const facts = [counts.get(node.id) ?? 0, states.get(node.id)?.status, node.id in pinned, changes.get(node.id)];
      const at = places.get(node.id)!;
      const key = [node, at.x, at.y, blocks, chosen.has(node.id), ...facts, say, ...into, '|', ...from];
      const before = kept.current.get(node.id);
      const box =
        before && equal(before.key, key)
          ? before.box
          : makeBox(node, { into, from, facts, looks, say, at }, before?.box);
      next.set(node.id, { box, key });
      return box;
    });
    kept.current = next;
    return boxes;
    // eslint-disable-next-line react-hooks/exhaustive-deps -- `looks` is taken apart above
  }, [doc, blocks, chosen, problems, states, pinned, changes, say]);
}

type Around = { into: LinkDoc[]; from: LinkDoc[]; facts: unknown[]; looks: Looks; say: Say; at: Point };

function makeBox(node: NodeDoc, { into, from, facts, looks, say, at }: Around, before: Box | undefined): Box {
  const block = looks.blocks.get(node.block_id);
  const pins = pinsOf(node, block, into, from);
  const { title, about } = titleOf(node, looks.blocks);
  const [problems, status, pinned, change] = facts as [number, string | undefined, boolean, Change | undefined];
  const linkedOut = new Set(from.map((link) => link.source_name));
  const data: BoxData = {
    node,
    title,
    about,
    kind: block?.type ?? '',
    inputs: shownInputs(pins, into, block),
    outputs: pins.outputs.filter((pin) => !pin.advanced || linkedOut.has(pin.name) || pins.outputs.length < 2),
    linked: new Set(into.map((link) => link.sink_name)),
    problems,
    status,
    pinned,
    change,
  };
  const label = problems ? say('canvas.nodeWithProblems', { title, count: problems }) : say('canvas.node', { title });
  return {
    id: node.id,
    type: block?.type === 'note' ? 'note' : 'block',
    position: at,
    selected: looks.chosen.has(node.id),
    data,
    ariaLabel: label,
    ...(before?.measured ? { measured: before.measured } : {}),
  };
}

export function useLines(
  doc: Doc,
  chosen: ReadonlySet<string>,
  states: NodeStates,
  changes: ReadonlyMap<string, Change>,
) {
  return useMemo(() => {
    const there = new Set(doc.nodes.map((node) => node.id));
    return doc.links
      .filter((link) => there.has(link.source_id) && there.has(link.sink_id))
      .map((link): Edge => ({
        id: link.id,
        source: link.source_id,
        sourceHandle: link.source_name,
        target: link.sink_id,
        targetHandle: link.sink_name,
        selected: chosen.has(link.id),
        animated: states.get(link.source_id)?.status === 'RUNNING',
        className: changes.has(link.id) ? `edge-${changes.get(link.id)}` : undefined,
        style: link.is_static ? { strokeDasharray: '5 4' } : undefined,
        focusable: false,
      }));
  }, [doc, chosen, states, changes]);
}

const equal = (one: readonly unknown[], two: readonly unknown[]) =>
  one.length === two.length && one.every((value, place) => value === two[place]);
