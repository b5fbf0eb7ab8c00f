// Typeset maths, fetched with the first formula. Nothing in a formula can load, link or style anything.
import 'katex/dist/katex.min.css';
import katex from 'katex';

type Drawn = { attributes?: Record<string, string>; children?: Drawn[]; toNode: () => Node };

const untyped = katex as unknown as { __renderToDomTree: (tex: string, options: object) => Drawn };
const OPTIONS = {
  output: 'htmlAndMathml',
  throwOnError: true,
  trust: false,
  strict: false,
  maxExpand: 500,
  maxSize: 50,
};

/** Draw a formula into an element. Throws what is wrong with it. */
export function draw(tex: string, display: boolean, into: HTMLElement): void {
  const tree = untyped.__renderToDomTree(tex, { ...OPTIONS, displayMode: display });
  styled(tree);
  into.replaceChildren(tree.toNode());
}

/** The content security policy forbids style attributes; the same style set by script is allowed. */
function styled(part: Drawn): void {
  const css = part.attributes?.style;
  if (css !== undefined) {
    delete part.attributes!.style;
    const make = part.toNode.bind(part);
    part.toNode = () => {
      const node = make();
      (node as HTMLElement).style.cssText = css;
      return node;
    };
  }
  part.children?.forEach(styled);
}
