// The page inside the frame that draws diagrams. It knows nothing but the sources it is sent.
import mermaid from 'mermaid';
import type { Ask, Told } from '../markdown/diagramFrame';

const FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, sans-serif';
let line = Promise.resolve(); // one after the other: the library has one state

addEventListener('message', ({ data, source }: MessageEvent<Ask>) => {
  if (source !== parent) return;
  line = line.then(() => draw(data));
});
parent.postMessage('ready', '*');

async function draw({ id, source, dark }: Ask): Promise<void> {
  const tell = (told: Omit<Told, 'id'>) => parent.postMessage({ id, ...told } satisfies Told, '*');
  try {
    mermaid.initialize({
      startOnLoad: false,
      securityLevel: 'strict',
      theme: dark ? 'dark' : 'default',
      fontFamily: FONT,
      htmlLabels: false,
      flowchart: { htmlLabels: false, useMaxWidth: false },
      suppressErrorRendering: true,
    });
    const { svg } = await mermaid.render(`d${id.replaceAll('-', '')}`, source);
    tell({ svg });
  } catch (error) {
    tell({ problem: error instanceof Error ? error.message.split('\n')[0]!.replace(/:$/, '.') : String(error) });
  }
}
