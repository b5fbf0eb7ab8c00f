// Turns our own addresses in text into links: `workspace://id` to a file's content, `/library/…` and `/c/…` to pages.
type Node = { type: string; tagName?: string; value?: string; properties?: Record<string, unknown>; children?: Node[] };

const REFERENCE = /workspace:\/\/([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})(#[\w./+-]*)?/i;
/** Divides a text at its references to files: every second piece is one. */
export const REFERENCES = /(workspace:\/\/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?:#[\w./+-]*)?)/i;
const PAGE = /(?<![\w/.:])\/(?:library|store|c|account)\/[\w/-]*\w/;
const PLAIN = new Set(['code', 'pre', 'a']);

export function addressOf(reference: string): string | null {
  const id = reference.match(REFERENCE)?.[1];
  return id ? `/api/files/${id.toLowerCase()}/content` : null;
}

export function workspaceLinks() {
  return (tree: Node) => rewrite(tree);
}

function rewrite(node: Node): void {
  for (const name of ['href', 'src']) {
    const value = node.properties?.[name];
    const address = typeof value === 'string' && value.startsWith('workspace:') ? addressOf(value) : null;
    if (address && node.properties) node.properties[name] = address;
  }
  if (!node.children || PLAIN.has(node.tagName ?? '')) return;
  node.children = node.children.flatMap((child) => (child.type === 'text' ? linked(child.value ?? '') : [child]));
  node.children.forEach(rewrite);
}

function linked(text: string): Node[] {
  const found = text.match(REFERENCE) ?? text.match(PAGE);
  if (!found || found.index === undefined) return [{ type: 'text', value: text }];
  const [whole] = found;
  const link: Node = {
    type: 'element',
    tagName: 'a',
    properties: { href: addressOf(whole) ?? whole },
    children: [{ type: 'text', value: whole }],
  };
  return [{ type: 'text', value: text.slice(0, found.index) }, link, ...linked(text.slice(found.index + whole.length))];
}
