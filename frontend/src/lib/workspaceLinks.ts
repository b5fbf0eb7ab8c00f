// `workspace://id` in a text becomes the address of the file's content, in links, pictures and plain words.
type Node = { type: string; tagName?: string; value?: string; properties?: Record<string, unknown>; children?: Node[] };

const REFERENCE = /workspace:\/\/([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})(#[\w./+-]*)?/i;
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
  const found = text.match(REFERENCE);
  if (!found || found.index === undefined) return [{ type: 'text', value: text }];
  const [whole] = found;
  const link: Node = {
    type: 'element',
    tagName: 'a',
    properties: { href: addressOf(whole) },
    children: [{ type: 'text', value: whole }],
  };
  return [{ type: 'text', value: text.slice(0, found.index) }, link, ...linked(text.slice(found.index + whole.length))];
}
