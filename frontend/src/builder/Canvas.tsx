import {
  applyNodeChanges,
  Background,
  type Connection,
  Controls,
  type NodeChange,
  type OnConnectStartParams,
  ReactFlow,
  useReactFlow,
} from '@xyflow/react';
import '@xyflow/react/dist/base.css';
import '../graph/graph.css';
import './builder.css';
import { type DragEvent, useCallback, useRef, useState } from 'react';
import { toast } from '../app/toasts';
import { useDark } from '../browser/theme';
import { type Box, BlockNode, NoteNode } from './BlockNode';
import { joinPins, fitBetween } from './connections';
import { useShared } from './context';
import { type Doc, moveNodes } from './document';
import { DRAGGED } from './Palette';
import { type Looks, useBoxes, useLines } from './useBoxes';
import { useSay } from './words';

const KINDS = { block: BlockNode, note: NoteNode };
const FIT = { padding: 0.2, maxZoom: 1 } as const;

type Props = {
  looks: Looks;
  chosenLinks: ReadonlySet<string>;
  onChooseLinks: (ids: ReadonlySet<string>) => void;
  onOpen: () => void;
  locked: boolean; // while a proposal is looked at
  doc: Doc;
};

/** The canvas: blocks are dropped, dragged, connected and chosen on it. */
export function Canvas({ looks, chosenLinks, onChooseLinks, onOpen, locked, doc }: Props) {
  const say = useSay();
  const dark = useDark();
  const { store, blocks, add } = useShared();
  const frame = useRef<HTMLDivElement>(null);
  const flow = useReactFlow<Box>();
  const made = useBoxes(doc, looks, say);
  const [boxes, setBoxes] = useState(made);
  const last = useRef(made);
  const measured = useRef(new Map<string, Box['measured']>());
  if (last.current !== made) {
    last.current = made;
    setBoxes(made.map((box) => withMeasure(box, measured.current.get(box.id))));
  }
  const lines = useLines(doc, chosenLinks, looks.states, looks.changes);

  const changed = useCallback(
    (changes: NodeChange<Box>[]) => {
      const moved = new Map<string, { x: number; y: number }>();
      const [taken, left] = [new Set<string>(), new Set<string>()];
      for (const change of changes) {
        if (change.type === 'position' && change.position && !change.dragging) moved.set(change.id, change.position);
        if (change.type === 'select') (change.selected ? taken : left).add(change.id);
        if (change.type === 'dimensions') measured.current.set(change.id, change.dimensions);
      }
      setBoxes((now) => applyNodeChanges(changes, now));
      if (taken.size || left.size) store.choose([...[...store.chosen].filter((id) => !left.has(id)), ...taken]);
      if (moved.size) store.edit((now) => moveNodes(now, moved), `move ${[...moved.keys()].join()}`);
    },
    [store],
  );

  const light = useCallback(
    (_: unknown, start: OnConnectStartParams | null) => {
      const root = frame.current;
      if (!root) return;
      root.toggleAttribute('data-connecting', start !== null);
      for (const handle of root.querySelectorAll<HTMLElement>('.react-flow__handle')) {
        const { nodeid = '', handleid = '' } = handle.dataset;
        const isSource = handle.classList.contains('source');
        const fit = start && fitOfHandle(store.doc, blocks, start, { nodeid, handleid, isSource });
        if (fit) handle.dataset.fit = fit;
        else delete handle.dataset.fit;
      }
    },
    [store, blocks],
  );

  const joined = (connection: Connection) => {
    const { source, sourceHandle, target, targetHandle } = connection;
    const ends = { source_id: source, source_name: sourceHandle ?? '', sink_id: target, sink_name: targetHandle ?? '' };
    const how = joinPins(store, blocks, ends);
    if (how === 'convert') toast(say('canvas.converted'));
  };

  const dropped = (event: DragEvent) => {
    const block = blocks.get(event.dataTransfer.getData(DRAGGED));
    const values = event.dataTransfer.getData(`${DRAGGED}.values`);
    if (!block) return;
    event.preventDefault();
    const at = flow.screenToFlowPosition({ x: event.clientX, y: event.clientY });
    add(block, values ? (JSON.parse(values) as Record<string, unknown>) : undefined, { x: at.x - 40, y: at.y - 20 });
  };

  return (
    <div
      ref={frame}
      className="graph builder min-h-0 flex-1"
      role="region"
      aria-label={say('canvas.label', { count: doc.nodes.length })}
      onDragOver={(event) => event.dataTransfer.types.includes(DRAGGED) && event.preventDefault()}
      onDrop={dropped}
    >
      <ReactFlow<Box>
        nodes={boxes}
        edges={lines}
        nodeTypes={KINDS}
        colorMode={dark ? 'dark' : 'light'}
        fitView
        fitViewOptions={FIT}
        minZoom={0.1}
        maxZoom={2}
        deleteKeyCode={null}
        multiSelectionKeyCode={['Meta', 'Control', 'Shift']}
        selectionKeyCode="Shift"
        nodesDraggable={!locked}
        nodesConnectable={!locked}
        edgesFocusable={false}
        connectionRadius={28}
        onNodesChange={changed}
        onEdgesChange={(changes) => {
          const next = new Set(chosenLinks);
          for (const change of changes)
            if (change.type === 'select') void (change.selected ? next.add(change.id) : next.delete(change.id));
          onChooseLinks(next);
        }}
        onConnect={joined}
        onConnectStart={light}
        onConnectEnd={() => light(null, null)}
        onClickConnectStart={light}
        onClickConnectEnd={() => light(null, null)}
        isValidConnection={({ source, sourceHandle, target, targetHandle }) =>
          fitBetween(store.doc, blocks, {
            source_id: source,
            source_name: sourceHandle ?? '',
            sink_id: target,
            sink_name: targetHandle ?? '',
          }).how !== 'no'
        }
        onNodeDoubleClick={onOpen}
        proOptions={{ hideAttribution: true }}
      >
        <Background gap={24} />
        <Controls showInteractive={false} position="bottom-left" orientation="horizontal" fitViewOptions={FIT} />
      </ReactFlow>
    </div>
  );
}

const withMeasure = (box: Box, measured: Box['measured']): Box =>
  measured && !box.measured ? { ...box, measured } : box;

type AtHandle = { nodeid: string; handleid: string; isSource: boolean };

function fitOfHandle(
  doc: Props['doc'],
  blocks: Looks['blocks'],
  start: OnConnectStartParams,
  { nodeid, handleid, isSource }: AtHandle,
): string {
  const fromSource = start.handleType === 'source';
  if (start.nodeId === nodeid && start.handleId === handleid && isSource === fromSource) return 'start';
  if (isSource === fromSource) return '';
  const own = { id: start.nodeId ?? '', pin: start.handleId ?? '' };
  const [source, sink] = fromSource ? [own, { id: nodeid, pin: handleid }] : [{ id: nodeid, pin: handleid }, own];
  const ends = { source_id: source.id, source_name: source.pin, sink_id: sink.id, sink_name: sink.pin };
  const { how } = fitBetween(doc, blocks, ends);
  return how === 'no' ? '' : how;
}
