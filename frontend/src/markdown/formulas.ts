// Marks parsed maths for the component that draws it. Runs after the sanitiser, so the mark cannot be forged.
type Node = { type: string; tagName?: string; value?: string; properties?: Record<string, unknown>; children?: Node[] };

export const FORMULA = 'x-formula';

export default function formulas() {
  return (tree: Node) => rewrite(tree);
}

function rewrite(node: Node): void {
  node.children?.forEach((child, place) => {
    const code = isMath(child) ? child : child.tagName === 'pre' ? child.children?.find(isMath) : undefined;
    if (code) node.children![place] = formula(code, child.tagName === 'pre');
    else rewrite(child);
  });
}

function isMath(node: Node): boolean {
  const names = node.properties?.className;
  return node.tagName === 'code' && Array.isArray(names) && names.includes('language-math');
}

function formula(code: Node, display: boolean): Node {
  const tex = (code.children ?? []).map((child) => child.value ?? '').join('');
  return { type: 'element', tagName: FORMULA, properties: { tex, display }, children: [] };
}
