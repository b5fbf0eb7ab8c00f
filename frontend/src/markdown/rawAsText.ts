// Shows HTML in an answer as text: it is never parsed, so it cannot do harm.
type Node = { type: string; tagName?: string; value?: string; properties?: Record<string, unknown>; children?: Node[] };

export default function rawAsText() {
  return (tree: Node) => {
    tree.children = tree.children?.map((node) => (node.type === 'raw' ? paragraph(node) : node));
    rewrite(tree);
  };
}

function rewrite(node: Node): void {
  for (const child of node.children ?? []) {
    if (child.type === 'raw') child.type = 'text';
    rewrite(child);
  }
}

function paragraph(node: Node): Node {
  return { type: 'element', tagName: 'p', properties: {}, children: [{ type: 'text', value: node.value }] };
}
