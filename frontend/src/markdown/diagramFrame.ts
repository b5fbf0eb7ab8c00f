// Draws diagrams in a frame of no origin: what the library does there reaches neither the page nor its cookies.
import { newId } from '../browser/ids';

export const FRAME = `${import.meta.env.BASE_URL}diagram.html`;
const PATIENCE = 30_000; // ms, with the library still to be fetched
const LONGEST = 50_000; // characters

export type Ask = { id: string; source: string; dark: boolean };
export type Told = { id: string; svg?: string; problem?: string };

let frame: Promise<Window> | null = null;

/** Return the diagram as SVG, to be shown as an image only. Rejects with what is wrong with the source. */
export async function drawDiagram(source: string, dark: boolean): Promise<string> {
  if (source.length > LONGEST) throw new Error(`more than ${LONGEST} characters`);
  frame ??= openFrame();
  const inside = await frame;
  const ask: Ask = { id: newId(), source, dark };
  return new Promise((resolve, reject) => {
    const end = window.setTimeout(() => done(() => reject(new Error('no answer'))), PATIENCE);
    const heard = ({ data, source: from }: MessageEvent<Told>) => {
      if (from !== inside || data?.id !== ask.id) return;
      const { svg, problem } = data;
      done(() => (typeof svg === 'string' ? resolve(svg) : reject(new Error(problem ?? ''))));
    };
    const done = (say: () => void) => {
      window.clearTimeout(end);
      window.removeEventListener('message', heard);
      say();
    };
    window.addEventListener('message', heard);
    inside.postMessage(ask, '*'); // a frame without an origin has no address to name
  });
}

/** Out of sight, but laid out: the library measures its texts. */
function openFrame(): Promise<Window> {
  const made = document.createElement('iframe');
  made.setAttribute('sandbox', 'allow-scripts');
  made.title = 'diagrams';
  made.tabIndex = -1;
  made.ariaHidden = 'true';
  made.className = 'pointer-events-none fixed -left-[3000px] top-0 h-[1000px] w-[1200px] border-0';
  made.src = FRAME;
  const ready = new Promise<Window>((resolve) => {
    const heard = ({ data, source }: MessageEvent) => {
      if (source !== made.contentWindow || data !== 'ready') return;
      window.removeEventListener('message', heard);
      resolve(made.contentWindow!);
    };
    window.addEventListener('message', heard);
  });
  document.body.append(made);
  return ready;
}
