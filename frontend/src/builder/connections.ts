// Connecting pins: whether two fit, and what is done to the document when they are joined.
import { addNode, connect, type Doc, type Ends, makeNode, placesOf } from './document';
import { type Blocks, CONVERTER, type Fit, fitOf, keyOf, pinsOf } from './pins';
import type { BuilderStore } from './store';

export function fitBetween(doc: Doc, blocks: Blocks, ends: Ends): Fit {
  const none: Fit = { how: 'no', sinkName: ends.sink_name };
  const [from, to] = [find(doc, ends.source_id), find(doc, ends.sink_id)];
  if (!from || !to || from === to) return none;
  const [fromBlock, toBlock] = [blocks.get(from.block_id), blocks.get(to.block_id)];
  const into = doc.links.filter((link) => link.sink_id === to.id);
  const source = pinsOf(
    from,
    fromBlock,
    [],
    doc.links.filter((link) => link.source_id === from.id),
  ).outputs.find((pin) => pin.name === ends.source_name);
  const sink = pinsOf(to, toBlock, into, []).inputs.find((pin) => pin.name === ends.sink_name);
  if (!source || !sink) return none;
  return fitOf(source, sink, toBlock?.wraps.includes(sink.name) ?? false, into, keyOf(from, source.name));
}

/** Joins two pins, with a converter between them where only that helps; returns how. */
export function joinPins(store: BuilderStore, blocks: Blocks, ends: Ends): Fit['how'] {
  const fit = fitBetween(store.doc, blocks, ends);
  if (fit.how === 'no') return 'no';
  const isStatic = (id: string) => blocks.get(find(store.doc, id)?.block_id ?? '')?.static_output ?? false;
  store.edit((doc) => {
    if (fit.how === 'direct') return connect(doc, { ...ends, sink_name: fit.sinkName }, isStatic(ends.source_id));
    const [from, to] = [placesOf(doc).get(ends.source_id)!, placesOf(doc).get(ends.sink_id)!];
    const between = { x: (from.x + to.x) / 2, y: (from.y + to.y) / 2 + 150 };
    const converter = makeNode(CONVERTER, between, { type: fit.type });
    const first = connect(
      addNode(doc, converter),
      { ...ends, sink_id: converter.id, sink_name: 'value' },
      isStatic(ends.source_id),
    );
    return connect(first, { ...ends, source_id: converter.id, source_name: 'value' }, false);
  });
  return fit.how;
}

const find = (doc: Doc, id: string) => doc.nodes.find((node) => node.id === id);
