import { readdirSync, readFileSync } from 'node:fs';
import { join, sep } from 'node:path';
import { parseSync } from 'vite';
import { describe, expect, test } from 'vitest';
import { TOOLS } from '../src/cards/tools';
import { de } from '../src/i18n/de';
import { builder as deBuilder } from '../src/i18n/de/builder';
import { en } from '../src/i18n/en';
import { builder as enBuilder } from '../src/i18n/en/builder';
import { type Key, translator } from '../src/i18n';
import { ApiError } from '../src/api/http';
import { errorText } from '../src/api/errorText';
import { QUESTIONS } from '../src/library/ReviewCard';

const SOURCES = join(import.meta.dirname, '..', 'src');
type Texts = Record<string, string>;
const CATALOGUES: [string, Texts, Texts][] = [
  ['of the pages', en, de],
  ['of the builder', enBuilder, deBuilder], // loaded with it
];
const BUILDER = join(SOURCES, 'builder') + sep;
const holes = (text: string) => [...new Set(text.match(/\{\w+\}/g))].sort().join();

describe.each(CATALOGUES)('the catalogues %s', (_, english, german) => {
  const keys = Object.keys(english);
  test('have the same keys', () => {
    expect(Object.keys(german).sort()).toEqual([...keys].sort());
  });
  test('have the same holes and the same number of forms', () => {
    for (const key of keys) {
      const [one = '', other = ''] = [english[key], german[key]];
      expect(holes(other), key).toBe(holes(one));
      expect(other.split('|').length, key).toBe(one.split('|').length);
      expect(other.trim(), key).not.toBe('');
    }
  });
  test('are used: no text is left over', () => {
    const sources = files()
      .map((path) => readFileSync(path, 'utf8'))
      .join('\n');
    const named = keys.filter((key) => !key.startsWith('tool.') && !sources.includes(`'${key}'`));
    expect(named).toEqual([]);
  });
});

test('the catalogue says how every known tool is called', () => {
  for (const { doing, done } of Object.values(TOOLS)) {
    expect(en[doing], doing).toBeTruthy();
    expect(en[done], done).toBeTruthy();
  }
});

test('a count chooses the form, and numbers are written as the language does', () => {
  const t = translator(en, 'en');
  expect(t('chat.fileCount', { count: 1 })).toBe('1 attached file');
  expect(t('chat.fileCount', { count: 1200 })).toBe('1,200 attached files');
  expect(translator(de, 'de')('chat.fileCount', { count: 1200 })).toBe('1.200 angehängte Dateien');
});

test("what the server refuses is said in the person's language, and only words of the server keep its hint", () => {
  const t = translator(de, 'de');
  const full = new ApiError(409, 'too_many_keys', 'You have as many API keys as one person may have.', 'Delete one.');
  expect(errorText(full, t)).toBe(de['problem.too_many_keys']);
  const special = new ApiError(400, 'bad_image', 'The picture is damaged.', 'Send another one.');
  expect(errorText(special, t)).toBe('The picture is damaged. Send another one.');
});

// --- no words in components -----------------------------------------------------------------------

const SPOKEN = new Set(['aria-label', 'title', 'placeholder', 'alt', 'label', 'about', 'action']);
const LETTERS = /\p{L}{2,}/u;
const NAMES = new Set(['Ratchet']); // the product is called so in every language
const ADDRESS = /^https:\/\/\S+$/; // the same in every language

type Node = { type: string; [field: string]: unknown };

test('no component has words of its own', () => {
  const found = files()
    .filter((path) => path.endsWith('.tsx') && !path.includes('styleguide'))
    .flatMap((path) =>
      wordsIn(parseSync(path, readFileSync(path, 'utf8')).program as unknown as Node)
        .filter((words) => !(path.startsWith(BUILDER) && words in enBuilder)) // its say() takes keys of its catalogue
        .map((words) => `${path.slice(SOURCES.length + 1)}: ${words}`),
    );
  expect(found).toEqual([]);
});

test('words in a component would be found', () => {
  const program = parseSync(
    'x.tsx',
    'const x = <p title="Read this">{y} and this <b aria-label={`or ${z}`} /></p>;',
  ).program;
  expect(wordsIn(program as unknown as Node)).toEqual(['Read this', 'and this', 'or']);
  const said = parseSync('x.tsx', "say('Run it'); say(`Go on with ${x}`); say(words);").program;
  expect(wordsIn(said as unknown as Node)).toEqual(['Run it', 'Go on with']);
});

function wordsIn(node: Node): string[] {
  const own: string[] = [];
  if (node.type === 'JSXText') own.push(String(node.value));
  if (node.type === 'JSXAttribute' && SPOKEN.has(String((node.name as Node).name)))
    own.push(...literalsIn(node.value as Node | null));
  if (node.type === 'CallExpression' && (node.callee as Node).name === 'say')
    own.push(...(node.arguments as Node[]).flatMap(textsIn));
  const inner = node.type === 'JSXAttribute' && own.length ? [] : children(node).flatMap(wordsIn);
  return [...own.map((text) => text.trim()).filter(isWords), ...inner];
}

function isWords(text: string): boolean {
  return LETTERS.test(text) && !NAMES.has(text) && !ADDRESS.test(text);
}

function literalsIn(value: Node | null): string[] {
  if (!value) return [];
  if (value.type === 'Literal') return [literal(value)];
  if (value.type !== 'JSXExpressionContainer') return [];
  return textsIn(value.expression as Node);
}

function literal({ value }: Node): string {
  return typeof value === 'string' ? value : '';
}

function textsIn(inside: Node): string[] {
  if (inside.type === 'Literal') return [literal(inside)];
  if (inside.type === 'TemplateLiteral')
    return (inside.quasis as { value: { raw: string } }[]).map((piece) => piece.value.raw);
  return [];
}

function children(node: Node): Node[] {
  return Object.values(node)
    .flatMap((value): unknown[] => (Array.isArray(value) ? value : [value]))
    .filter((value): value is Node => typeof value === 'object' && value !== null && 'type' in value);
}

function files(): string[] {
  return readdirSync(SOURCES, { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.tsx?$/.test(name) && !name.startsWith('i18n/en') && !name.startsWith('i18n/de'))
    .map((name) => join(SOURCES, name));
}

test('a tool that asks first asks in a sentence', () => {
  for (const [tool, key] of Object.entries(QUESTIONS)) {
    expect(TOOLS, tool).toHaveProperty(tool);
    expect(en[key as Key]).toMatch(/^[A-Z].*\?$/);
    expect(de[key as Key]).toMatch(/^[A-Z].*\?$/);
  }
});
