// A form from a JSON schema: which fields, what they start with, and what was filled in as values. Pure functions.
import { field, list, text, texts } from '../api/looseValues';
import type { Schema } from './api';

export type Kind = 'line' | 'text' | 'number' | 'flag' | 'choice' | 'date' | 'time' | 'secret' | 'json';
export type FormField = {
  name: string;
  label: string;
  about: string;
  kind: Kind;
  required: boolean;
  advanced: boolean;
  choices: string[];
  initial: string;
  whole: boolean;
};
export type Filled = Record<string, string>;
export type Parsed = { values: Record<string, unknown>; problems: Record<string, 'needed' | 'noNumber' | 'noJson'> };

export function fieldsOf(schema: Schema | undefined): FormField[] {
  const required = new Set(schema?.required ?? []);
  const given = Object.entries(schema?.properties ?? {}).filter(([, one]) => one.format !== 'credentials'); // those are chosen by the server
  return given.map(([name, one]) => {
    const initial = one.default;
    return {
      name,
      label: text(one.title) || name,
      about: text(one.description),
      kind: kindOf(one),
      required: required.has(name),
      advanced: one.advanced === true,
      choices: texts(one.enum),
      initial:
        initial === undefined || initial === null
          ? ''
          : typeof initial === 'string'
            ? initial
            : JSON.stringify(initial),
      whole: one.type === 'integer',
    };
  });
}

function kindOf(schema: Schema): Kind {
  if (texts(schema.enum).length) return 'choice';
  if (isSecret(schema)) return 'secret';
  switch (schema.type) {
    case 'boolean':
      return 'flag';
    case 'integer':
    case 'number':
      return 'number';
    case 'array':
    case 'object':
      return 'json';
    default:
      return lineOf(schema);
  }
}

function lineOf(schema: Schema): Kind {
  switch (schema.format) {
    case 'date':
      return 'date';
    case 'time':
      return 'time';
    case 'long-text':
      return 'text';
    default:
      return 'line';
  }
}

const SECRET_FORMATS = new Set<unknown>(['password', 'secret']);

function isSecret(schema: Schema): boolean {
  return (
    schema.secret === true ||
    SECRET_FORMATS.has(schema.format) ||
    list(schema.anyOf).some((branch) => SECRET_FORMATS.has(field(branch, 'format')))
  );
}

/** Whether anything that is filled in must not be read by others, the model among them. */
export function takesSecrets(schema: Schema): boolean {
  return Object.values(schema.properties ?? {}).some(isSecret);
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
  return Object.fromEntries(
    Object.entries(fields).map(([name, lines]) => [name.replace(/^inputs\./, ''), lines.join(' ')]),
  );
}
