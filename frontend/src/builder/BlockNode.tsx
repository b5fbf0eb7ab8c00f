import { Handle, type Node, type NodeProps, Position } from '@xyflow/react';
import { memo } from 'react';
import { text } from '../api/looseValues';
import { classes } from '../components/classes';
import { Icon, type IconName } from '../components/icons';
import { toneOf } from '../library/status';
import type { NodeDoc } from './document';
import type { Pin } from './pins';

export type Change = 'added' | 'changed' | 'removed';
export type BoxData = {
  node: NodeDoc;
  title: string;
  about: string;
  kind: string;
  inputs: Pin[];
  outputs: Pin[];
  linked: ReadonlySet<string>;
  problems: number;
  status?: string;
  pinned: boolean;
  change?: Change;
};
export type Box = Node<BoxData, 'block' | 'note'>;

export const WIDTH = 256;
const ICONS: Record<string, IconName> = {
  input: 'arrowDown',
  output: 'send',
  ai: 'bulb',
  agent: 'agent',
  hitl: 'question',
  webhook_manual: 'bolt',
};

/** A block on the canvas: its title, and a row per pin with what is filled in. */
export const BlockNode = memo(function BlockNode({ data, selected }: NodeProps<Box>) {
  const rows = Math.max(data.inputs.length, data.outputs.length);
  return (
    <div
      className={classes('builder-card', selected && 'is-chosen')}
      data-change={data.change}
      data-problem={data.problems > 0 || undefined}
      style={{ width: WIDTH }}
    >
      <div className="flex items-center gap-2.5 px-3 py-2.5">
        <span
          className="node-state"
          data-tone={data.status ? toneOf(data.status) : undefined}
          data-running={data.status === 'RUNNING' || undefined}
        >
          <Icon name={iconOf(data)} size={16} />
        </span>
        <span className="min-w-0 flex-1">
          <span className="block truncate text-[13px] font-semibold">{data.title}</span>
          {data.about && <span className="block truncate text-[11px] text-quiet">{data.about}</span>}
        </span>
        {data.pinned && <Icon name="pin" size={14} className="text-accent-text" />}
        {data.problems > 0 && (
          <span className="flex items-center gap-0.5 rounded-full bg-wrong-soft px-1.5 py-0.5 text-[11px] font-semibold text-wrong">
            <Icon name="warning" size={12} />
            {data.problems}
          </span>
        )}
      </div>
      {rows > 0 && (
        <div className="border-t border-line py-1.5">
          {Array.from({ length: rows }, (_, row) => (
            <div key={row} className="relative flex h-6 items-center justify-between gap-2 px-3 text-[11px]">
              <Input pin={data.inputs[row]} data={data} />
              <Output pin={data.outputs[row]} />
            </div>
          ))}
        </div>
      )}
    </div>
  );
});

function Input({ pin, data }: { pin: Pin | undefined; data: BoxData }) {
  if (!pin) return <span />;
  const value = data.linked.has(pin.name) ? '' : shown(data.node.input_default[pin.name]);
  return (
    <span className="flex min-w-0 items-baseline gap-1.5">
      <Handle
        type="target"
        id={pin.name}
        position={Position.Left}
        data-linked={data.linked.has(pin.name) || undefined}
      />
      <span className={classes('shrink-0', pin.required ? 'font-medium text-ink' : 'text-quiet')}>{pin.label}</span>
      {value && <span className="truncate text-quiet">{value}</span>}
    </span>
  );
}

function Output({ pin }: { pin: Pin | undefined }) {
  if (!pin) return <span />;
  return (
    <span className="shrink-0 text-quiet">
      {pin.label}
      <Handle type="source" id={pin.name} position={Position.Right} />
    </span>
  );
}

/** A note for readers of the agent. */
export const NoteNode = memo(function NoteNode({ data, selected }: NodeProps<Box>) {
  return (
    <div
      className={classes('builder-note', selected && 'is-chosen')}
      data-change={data.change}
      style={{ width: WIDTH }}
    >
      {text(data.node.input_default.text) || data.title}
    </div>
  );
});

function iconOf(data: BoxData): IconName {
  if (data.status === 'COMPLETED') return 'check';
  if (data.status === 'FAILED') return 'warning';
  if (data.status === 'REVIEW') return 'question';
  return ICONS[data.kind] ?? 'block';
}

function shown(value: unknown): string {
  if (value === undefined || value === null || value === '') return '';
  return (typeof value === 'string' ? value : JSON.stringify(value)).slice(0, 60);
}
