// Which output fits which input, as the server's validation has it (executions/agents/validation/types.py).
import { list, record } from '../api/looseValues';
import type { Schema } from '../library/api';

const SCALARS = ['integer', 'number', 'boolean', 'string'];
const BECOMES: Record<string, ReadonlySet<string>> = {
  string: new Set([...SCALARS, 'array', 'object']),
  array: new Set([...SCALARS, 'array', 'object']),
  integer: new Set(SCALARS),
  number: new Set(SCALARS),
  boolean: new Set(SCALARS),
  object: new Set(['object', 'string']),
};
const CONVERTED: Record<string, string> = {
  boolean: 'boolean',
  integer: 'number',
  number: 'number',
  object: 'dictionary',
};

/** The JSON types a schema allows, without null; none means any. */
export function kindsOf(schema: Schema): string[] {
  if (Array.isArray(schema.anyOf)) {
    const kinds = schema.anyOf
      .map((option) => record(option) as Schema)
      .filter((option) => option.type !== 'null')
      .map(kindsOf);
    return kinds.some((one) => one.length === 0) ? [] : [...new Set(kinds.flat())];
  }
  const names = (Array.isArray(schema.type) ? list(schema.type) : [schema.type]).map(String);
  const known = names.filter((name) => name in BECOMES);
  return known.length && names.every((name) => name in BECOMES || name === 'null') ? known : [];
}

export function canFit(source: Schema, sink: Schema, wraps = false): boolean {
  const [given, taken] = [kindsOf(source), kindsOf(sink)];
  if (!given.length || !taken.length || (wraps && taken.includes('object'))) return true;
  return taken.some((wanted) => given.some((kind) => BECOMES[wanted]!.has(kind)));
}

/** What a Universal Type Converter before the sink converts to; empty where it cannot help. */
export function converterType(sink: Schema): string {
  return (
    kindsOf(sink)
      .sort()
      .map((kind) => CONVERTED[kind])
      .find(Boolean) ?? ''
  );
}

/** A short name of a type, as the pins show it. */
export function typeName(schema: Schema): string {
  if (schema.format === 'credentials') return 'credentials';
  if (Array.isArray(schema.enum)) return 'choice';
  return kindsOf(schema).join(' | ') || 'any';
}
