import {
  Background,
  Controls,
  type Edge,
  Handle,
  type Node,
  type NodeProps,
  Position,
  ReactFlow,
  useReactFlow,
  useStore,
} from '@xyflow/react';
import '@xyflow/react/dist/base.css';
import './graph.css';
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'react';
import { classes } from '../components/classes';
import { Icon } from '../components/icons';
import { useT } from '../i18n';
import { useNarrow } from '../browser/useNarrow';
import { useDark } from '../browser/theme';
import { statusKey, type NodeStates, toneOf } from '../library/status';
import { BOX, type BlockNames, carries, columns, type Graph, places, sizeOf, titleOf } from './model';

type BoxData = { title: string; about: string; status?: string; downward: boolean };
type Box = Node<BoxData, 'box'>;

type Props = {
  graph: Graph;
  names: BlockNames;
  states?: NodeStates;
  chosen?: string | null;
  onChoose?: (node: string) => void;
  compact?: boolean; // close together, wherever its author put things
};

/** A zoomable, read-only drawing of a graph with the state of each node. */
export default function GraphView({ graph, names, states, chosen, onChoose, compact }: Props) {
  const t = useT();
  const dark = useDark();
  const downward = useNarrow();
  const frame = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    const measure = () => setWidth(frame.current?.clientWidth ?? 0);
    const observer = new ResizeObserver(measure);
    if (frame.current) observer.observe(frame.current);
    measure();
    return () => observer.disconnect();
  }, []);
  const at = useMemo(
    () => (compact || downward ? columns(graph, downward) : places(graph)),
    [graph, compact, downward],
  );
  const boxes = useMemo(
    () =>
      graph.nodes.map((node): Box => {
        const state = states?.get(node.id);
        const { title, about } = titleOf(node, names);
        const said = state ? `${title}, ${t(statusKey(state.status))}` : title;
        return {
          id: node.id,
          type: 'box',
          position: at.get(node.id)!,
          width: BOX.width,
          height: BOX.height,
          selected: node.id === chosen,
          data: { title, about, status: state?.status, downward },
          ariaLabel: said,
        };
      }),
    [graph, names, states, at, chosen, downward, t],
  );
  const lines = useMemo(
    () =>
      graph.links.map((link): Edge => ({
        id: link.id,
        source: link.source,
        target: link.sink,
        label: carries(link),
        animated: states?.get(link.source)?.status === 'RUNNING',
        style: link.isStatic ? { strokeDasharray: '4 4' } : undefined,
        focusable: false,
      })),
    [graph, states],
  );
  return (
    <div
      className="graph overflow-hidden rounded-xl border border-line"
      ref={frame}
      style={{ height: frameHeight(sizeOf(at), width, compact) }}
      role="group"
      aria-label={t('graph.label', { count: graph.nodes.length })}
    >
      {width > 0 && (
        <ReactFlow
          key={String(downward)}
          nodes={boxes}
          edges={lines}
          nodeTypes={KINDS}
          colorMode={dark ? 'dark' : 'light'}
          fitView
          fitViewOptions={FIT}
          minZoom={0.1}
          nodesDraggable={false}
          nodesConnectable={false}
          elementsSelectable={onChoose !== undefined}
          nodesFocusable={onChoose !== undefined}
          onNodeClick={(_, node) => onChoose?.(node.id)}
          onSelectionChange={({ nodes }) => nodes[0] && nodes[0].id !== chosen && onChoose?.(nodes[0].id)}
          preventScrolling={false}
          zoomOnScroll={false}
          panOnScroll={false}
          proOptions={{ hideAttribution: true }}
        >
          <Background gap={20} />
          <Controls showInteractive={false} position="bottom-right" orientation="horizontal" fitViewOptions={FIT} />
          <Fitted />
        </ReactFlow>
      )}
    </div>
  );
}

/** Fits the drawing again when its frame is resized. */
function Fitted() {
  const { fitView } = useReactFlow();
  const [width, height] = [useStore((state) => state.width), useStore((state) => state.height)];
  useEffect(() => {
    if (width && height) void fitView(FIT);
  }, [fitView, width, height]);
  return null;
}

const FIT = { padding: { x: '24px', top: '24px', bottom: '60px' }, maxZoom: 1 } as const; // the buttons are below the drawing
const [BESIDE, ABOVE_AND_BELOW] = [48, 84];

/** The height of the drawing at full width, up to a limit; larger ones are zoomed. */
function frameHeight(drawing: { width: number; height: number }, width: number, compact: boolean | undefined): number {
  const zoom = Math.min(1, (width - BESIDE) / drawing.width);
  return Math.min(Math.round(drawing.height * zoom) + ABOVE_AND_BELOW, compact ? 340 : 448);
}

function BoxNode({ data, selected }: NodeProps<Box>) {
  return (
    <div
      className={classes(
        'flex size-full items-center gap-2.5 rounded-xl border bg-card px-3 text-left shadow-sm',
        selected ? 'border-accent ring-3 ring-accent-soft' : 'border-line',
      )}
    >
      <Handle type="target" position={data.downward ? Position.Top : Position.Left} />
      <span
        className="node-state"
        data-tone={data.status ? toneOf(data.status) : undefined}
        data-running={data.status === 'RUNNING' || undefined}
      >
        <Icon
          name={
            data.status === 'COMPLETED'
              ? 'check'
              : data.status === 'FAILED'
                ? 'warning'
                : data.status === 'REVIEW'
                  ? 'question'
                  : 'block'
          }
          size={16}
        />
      </span>
      <span className="min-w-0 flex-1">
        <span className="block truncate text-[13px] font-medium">{data.title}</span>
        <span className="block truncate text-[11px] text-quiet">{data.about}</span>
      </span>
      <Handle type="source" position={data.downward ? Position.Bottom : Position.Right} />
    </div>
  );
}

const KINDS = { box: BoxNode };
