// Coloured code for the markdown renderer. The grammars are fetched with the first block of code; colours are the
// theme's variables, so light and dark need no second pass.
import type { CodeHighlighterPlugin, HighlightResult, HighlightToken } from 'streamdown';
import type * as Bundled from './grammars';

type Grammars = typeof Bundled;
type Node = { type: string; value?: string; children?: Node[]; properties?: { className?: string[] } };

const COLOURS: [RegExp, string][] = [
  [/^hljs-(keyword|built_in|literal|selector-tag|operator|meta)/, 'var(--word-keyword)'],
  [/^hljs-(string|regexp|addition|symbol|link)/, 'var(--word-string)'],
  [/^hljs-(number|attr|variable|template-variable|property|attribute)/, 'var(--word-number)'],
  [/^hljs-(comment|quote|doctag|deletion)/, 'var(--word-comment)'],
  [/^hljs-(title|section|name|selector)/, 'var(--word-title)'],
  [/^hljs-(type|class|params)/, 'var(--word-type)'],
];
const LONGEST_LIVE = 6_000; // characters: a longer block is coloured when it is whole

let grammars: Grammars | null = null;
let coming: Promise<Grammars> | null = null;

export const highlighter: CodeHighlighterPlugin = {
  name: 'shiki', // the name the renderer knows such plugins by
  type: 'code-highlighter',
  getThemes: () => ['light', 'dark'],
  getSupportedLanguages: () => grammars?.names() ?? [],
  supportsLanguage: (language) => grammars?.knows(language) ?? true,
  highlight({ code, language, isIncomplete }, callback) {
    if (isIncomplete && code.length > LONGEST_LIVE) return plain(code);
    if (grammars) return coloured(grammars, code, language);
    coming ??= import('./grammars').then((found) => (grammars = found));
    void coming.then((found) => callback?.(coloured(found, code, language)));
    return null;
  },
};

function coloured(found: Grammars, code: string, language: string): HighlightResult {
  if (!found.knows(language)) return plain(code);
  const lines: HighlightToken[][] = [[]];
  walk(found.tree(language, code), undefined, (text, color) => {
    text.split('\n').forEach((line, place) => {
      if (place > 0) lines.push([]);
      if (line) lines.at(-1)!.push({ content: line, ...(color ? { color, htmlStyle: { color } } : {}) });
    });
  });
  return { tokens: lines };
}

function walk(node: Node, color: string | undefined, say: (text: string, color: string | undefined) => void): void {
  if (node.type === 'text') return say(node.value ?? '', color);
  const name = node.properties?.className?.[0];
  const own = (name && COLOURS.find(([pattern]) => pattern.test(name))?.[1]) || color;
  for (const child of node.children ?? []) walk(child, own, say);
}

function plain(code: string): HighlightResult {
  return { tokens: code.split('\n').map((line) => (line ? [{ content: line }] : [])) };
}
