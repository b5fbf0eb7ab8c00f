// A form from a JSON schema: which fields, what they start with, and what was filled in as values. Pure functions.
import { field, text, texts } from '../lib/shape';
import type { Schema } from './api';

export type Kind = 'line' | 'text' | 'number' | 'flag' | 'choice' | 'date' | 'time' | 'secret' | 'json';
export type FormField = { name: string; label: string; about: string; kind: Kind; required: boolean; advanced: boolean; choices: string[]; initial: string; whole: boolean };
export type Filled = Record<string, string>;
export type Parsed = { values: Record<string, unknown>; problems: Record<string, 'needed' | 'noNumber' | 'noJson'> };

export function fieldsOf(schema: Schema | undefined): FormField[] {
  const required = new Set(schema?.required ?? []);
  return Object.entries(schema?.properties ?? {}).map(([name, one]) => {
    const initial = one.default;
    return {
      name,
      label: text(one.title) || name,
      about: text(one.description),
      kind: kindOf(one),
      required: required.has(name),
      advanced: one.advanced === true,
      choices: texts(one.enum),
      initial: initial === undefined || initial === null ? '' : typeof initial === 'string' ? initial : JSON.stringify(initial),
      whole: one.type === 'integer',
    };
  });
}

function kindOf(schema: Schema): Kind {
  if (texts(schema.enum).length) return 'choice';
  if (schema.secret === true || schema.format === 'password') return 'secret';
  switch (schema.type) {
    case 'boolean':
      return 'flag';
    case 'integer':
    case 'number':
      return 'number';
    case 'array':
    case 'object':
      return 'json';
  }
  switch (schema.format) {
    case 'date':
      return 'date';
    case 'time':
      return 'time';
    case 'long-text':
      return 'text';
  }
  return 'line';
}

export function initialOf(fields: readonly FormField[]): Filled {
  return Object.fromEntries(fields.map((one) => [one.name, one.initial]));
}

/** What was filled in, in the schema's types; what was left as it is stays away, so that defaults stay defaults. */
export function parse(fields: readonly FormField[], filled: Filled): Parsed {
  const parsed: Parsed = { values: {}, problems: {} };
  for (const one of fields) {
    const said = filled[one.name] ?? '';
    if (said === '' && one.kind !== 'flag') {
      if (one.required) parsed.problems[one.name] = 'needed';
      continue;
    }
    const value = valueOf(one, said);
    if (value === undefined) parsed.problems[one.name] = one.kind === 'number' ? 'noNumber' : 'noJson';
    else parsed.values[one.name] = value;
  }
  return parsed;
}

function valueOf(one: FormField, said: string): unknown {
  if (one.kind === 'flag') return said === 'true';
  if (one.kind === 'number') {
    const value = Number(said);
    return Number.isFinite(value) && (!one.whole || Number.isInteger(value)) ? value : undefined;
  }
  if (one.kind !== 'json') return said;
  try {
    return JSON.parse(said) as unknown;
  } catch {
    return undefined;
  }
}

/** The server's problems by field, from an error's `fields` (which may name them as `inputs.name`). */
export function problemsIn(fields: Record<string, string[]>): Record<string, string> {
  return Object.fromEntries(Object.entries(fields).map(([name, lines]) => [name.replace(/^inputs\./, ''), lines.join(' ')]));
}

export function isEmpty(schema: unknown): boolean {
  return Object.keys((field(schema, 'properties') as object | undefined) ?? {}).length === 0;
}
