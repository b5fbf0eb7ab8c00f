// The pins of a node: those of its block, those its settings add, and the parts of values that links name.
import { record, text } from '../api/looseValues';
import type { Schemas } from '../api/types';
import type { Schema } from '../library/api';
import type { Doc, LinkDoc, NodeDoc } from './document';
import { canFit, converterType, kindsOf } from './types';

export type Block = Omit<Schemas['BlockShape'], 'input_schema' | 'output_schema'> & {
  input_schema: Schema;
  output_schema: Schema;
};
export type Blocks = ReadonlyMap<string, Block>;
export type Pin = { name: string; label: string; schema: Schema; required: boolean; advanced: boolean };
export type Pins = { inputs: Pin[]; outputs: Pin[] };

export const AGENT_EXECUTOR = 'e189baac-8c20-45a1-94a7-55177ea42565';
export const CONVERTER = '95d1b990-ce13-4d88-9737-ba5c2070c97b';
const NESTED = /_[#$@]_/;

export function pinsOf(
  node: NodeDoc,
  block: Block | undefined,
  into: readonly LinkDoc[],
  from: readonly LinkDoc[],
): Pins {
  const inputs = block ? inputsOf(node, block) : [];
  const outputs = block ? outputsOf(node, block) : [];
  return {
    inputs: withLinked(inputs, into, (link) => link.sink_name),
    outputs: withLinked(outputs, from, (link) => link.source_name),
  };
}

function inputsOf(node: NodeDoc, block: Block): Pin[] {
  const hidden = new Set(block.hidden);
  if (block.type === 'agent') for (const name of ['graph_id', 'graph_version', 'agent_name']) hidden.add(name);
  if (block.schema_pin) hidden.add(block.schema_pin).add('output_schema');
  const own = properties(block.input_schema).filter(([name]) => !hidden.has(name));
  const added = block.schema_pin ? record(node.input_default[block.schema_pin]) : {};
  const [required, advanced] = [new Set(block.input_schema.required), new Set(block.advanced)];
  const needed = new Set((added as Schema).required ?? []);
  return [
    ...own.map(([name, schema]) => pinFrom(name, schema, required.has(name), advanced.has(name))),
    ...properties(added as Schema).map(([name, schema]) => pinFrom(name, schema, needed.has(name), false)),
  ];
}

function outputsOf(node: NodeDoc, block: Block): Pin[] {
  const added = block.type === 'agent' ? (record(node.input_default.output_schema) as Schema) : {};
  const pins = [...properties(block.output_schema), ...properties(added)];
  const found = pins.map(([name, schema]) => pinFrom(name, schema, false, name === 'error'));
  return block.type === 'ai' ? [...found, pinFrom('tools', {}, false, false)] : found;
}

const properties = (schema: Schema): [string, Schema][] => Object.entries(schema.properties ?? {});
const pinFrom = (name: string, schema: Schema, required: boolean, advanced: boolean): Pin => ({
  name,
  label: text(schema.title) || name,
  schema,
  required,
  advanced,
});

/** The pins, each followed by its parts that a link leads to or comes from. */
function withLinked(pins: Pin[], links: readonly LinkDoc[], nameOf: (link: LinkDoc) => string): Pin[] {
  const known = new Set(pins.map((pin) => pin.name));
  const extra = [...new Set(links.map(nameOf))].filter((name) => !known.has(name));
  if (extra.length === 0) return pins;
  const partOf = (name: string) => name.split(NESTED)[0]!;
  const made = (name: string): Pin => ({
    name,
    label: name.split(NESTED).at(-1)!,
    schema: {},
    required: false,
    advanced: false,
  });
  const parts = (pin: Pin) => extra.filter((name) => partOf(name) === pin.name).map(made);
  const lost = extra.filter((name) => !known.has(partOf(name))).map(made);
  return [...pins.flatMap((pin) => [pin, ...parts(pin)]), ...lost];
}

/** The pins on the card: what is needed, what is linked, and ordinary inputs; the rest is in the settings. */
export function shownInputs(pins: Pins, into: readonly LinkDoc[], block: Block | undefined): Pin[] {
  const linked = new Set(into.map((link) => link.sink_name));
  const isSetting = (pin: Pin) => block?.type === 'input' || (block?.type === 'output' && pin.name !== 'value');
  return pins.inputs.filter(
    (pin) => linked.has(pin.name) || (!pin.advanced && !isSetting(pin) && pin.schema.format !== 'credentials'),
  );
}

export type Fit = { how: 'direct' | 'convert' | 'no'; sinkName: string; type?: string };

/** How an output can feed an input: as it is, as a part of an object or list, through a converter, or not at all. */
export function fitOf(source: Pin, sink: Pin, wraps: boolean, links: readonly LinkDoc[], key: string): Fit {
  if (source.name === 'tools') return { how: 'direct', sinkName: sink.name };
  if (NESTED.test(sink.name)) return { how: 'direct', sinkName: sink.name };
  const [given, taken] = [kindsOf(source.schema), kindsOf(sink.schema)];
  const takesParts = taken.length === 1 && taken[0] === 'object' && !wraps && sink.schema.properties === undefined;
  if (takesParts && !(given.length === 1 && given[0] === 'object'))
    return { how: 'direct', sinkName: `${sink.name}_#_${freeKey(key, sink.name, links)}` };
  if (canFit(source.schema, sink.schema, wraps)) return { how: 'direct', sinkName: sink.name };
  const type = converterType(sink.schema);
  return type ? { how: 'convert', sinkName: sink.name, type } : { how: 'no', sinkName: sink.name };
}

function freeKey(wanted: string, pin: string, links: readonly LinkDoc[]): string {
  const taken = new Set(links.map((link) => link.sink_name));
  const plain = wanted.replace(/_[#$@]_/g, ' ') || 'value';
  let key = plain;
  for (let number = 2; taken.has(`${pin}_#_${key}`); number += 1) key = `${plain} ${number}`;
  return key;
}

/** The name under which a value is known to a person: that of an agent's input, else the pin. */
export function keyOf(node: NodeDoc, pin: string): string {
  return text(node.input_default.name) || pin;
}

export function linksOf(doc: Doc): { into: Map<string, LinkDoc[]>; from: Map<string, LinkDoc[]> } {
  const [into, from] = [new Map<string, LinkDoc[]>(), new Map<string, LinkDoc[]>()];
  for (const link of doc.links) {
    into.set(link.sink_id, [...(into.get(link.sink_id) ?? []), link]);
    from.set(link.source_id, [...(from.get(link.source_id) ?? []), link]);
  }
  return { into, from };
}

export function titleOf(node: NodeDoc, blocks: Blocks): { title: string; about: string } {
  const block = blocks.get(node.block_id)?.name ?? node.block_id.slice(0, 8);
  const own =
    text(node.metadata.customized_name) ||
    (node.block_id === AGENT_EXECUTOR && text(node.input_default.agent_name)) ||
    (isNamed(blocks.get(node.block_id)) && text(node.input_default.name));
  return own ? { title: own, about: block } : { title: block, about: '' };
}

const isNamed = (block: Block | undefined) => block?.type === 'input' || block?.type === 'output';
