import { type KeyboardEvent, useState } from 'react';
import { Button, IconButton } from '../components/Button';
import { TextField } from '../components/Field';
import { Fold, Notice } from '../components/Pieces';
import { text } from '../api/looseValues';
import type { Problem } from './api';
import { useShared } from './context';
import { align, disconnect, moveNodes, type NodeDoc, setName, type Side } from './document';
import { NodeTest } from './NodeTest';
import { PinField } from './PinField';
import { linksOf, pinsOf } from './pins';
import { useBuilder } from './store';
import { useSync } from './sync';
import { useSay } from './words';

type Props = { onFix: () => void; onDelete: () => void; onDuplicate: () => void };

/** The settings of what is chosen: a node, several, or the agent's problems if nothing is. */
export function Inspector({ onFix, onDelete, onDuplicate }: Props) {
  const { store } = useShared();
  const { doc, chosen } = useBuilder(store);
  const leave = (event: KeyboardEvent) => {
    const [first] = chosen;
    if (event.key !== 'Escape' || !first) return;
    event.stopPropagation();
    document.querySelector<HTMLElement>(`.builder .react-flow__node[data-id="${CSS.escape(first)}"]`)?.focus();
  };
  const node = chosen.size === 1 ? doc.nodes.find((one) => chosen.has(one.id)) : undefined;
  return (
    <div className="flex flex-col gap-5 p-4" onKeyDown={leave}>
      {node && <NodeSettings key={node.id} node={node} onFix={onFix} onDelete={onDelete} onDuplicate={onDuplicate} />}
      {chosen.size > 1 && <Several onDelete={onDelete} onDuplicate={onDuplicate} />}
      {chosen.size === 0 && <Overview onFix={onFix} />}
    </div>
  );
}

function NodeSettings({ node, onFix, onDelete, onDuplicate }: Props & { node: NodeDoc }) {
  const say = useSay();
  const { store, sync, blocks } = useShared();
  const { doc } = useBuilder(store);
  const { draft } = useSync(sync);
  const block = blocks.get(node.block_id);
  const links = linksOf(doc);
  const into = links.into.get(node.id) ?? [];
  const pins = pinsOf(node, block, into, []);
  const problems = [...draft.validation.errors, ...draft.validation.warnings].filter((one) => one.node_id === node.id);
  const problemAt = (pin: string) => draft.validation.errors.find((one) => one.node_id === node.id && one.pin === pin);
  const field = (pin: (typeof pins.inputs)[number]) => (
    <PinField key={pin.name} node={node} pin={pin} into={into} problem={problemAt(pin.name)?.message} />
  );
  const rest = problems.filter(
    (one) => !pins.inputs.some((pin) => pin.name === one.pin && problemAt(pin.name) === one),
  );
  const advanced = pins.inputs.filter((pin) => pin.advanced);
  return (
    <>
      <div className="flex items-start gap-2">
        <div className="min-w-0 flex-1">
          <h2 className="text-[15px] font-semibold break-words">{block?.name ?? node.block_id.slice(0, 8)}</h2>
          <p className="pt-0.5 text-[13px] text-quiet">{block?.description ?? say('node.missing')}</p>
        </div>
        <IconButton size="small" icon="copy" label={say('edit.duplicate')} onClick={onDuplicate} />
        <IconButton size="small" icon="trash" label={say('edit.delete')} onClick={onDelete} />
      </div>
      {rest.length > 0 && <Problems problems={rest} onFix={onFix} />}
      <div className="builder-fields flex flex-col gap-4">
        {pins.inputs.filter((pin) => !pin.advanced).map(field)}
        {block?.type !== 'note' && (
          <TextField
            label={say('node.name')}
            placeholder={block?.name}
            maxLength={100}
            value={text(node.metadata.customized_name)}
            onChange={(event) => store.edit((now) => setName(now, node.id, event.target.value), `name ${node.id}`)}
            onBlur={() => store.settle()}
          />
        )}
        {advanced.length > 0 && (
          <Fold title={say('node.advanced')}>
            <div className="flex flex-col gap-4">{advanced.map(field)}</div>
          </Fold>
        )}
      </div>
      <Outgoing node={node} />
      {block?.runs_alone && block.type !== 'note' && <NodeTest node={node} block={block} />}
    </>
  );
}

/** Where the outputs go, each with a button that cuts the link. */
function Outgoing({ node }: { node: NodeDoc }) {
  const say = useSay();
  const { store, blocks } = useShared();
  const { doc } = useBuilder(store);
  const links = doc.links.filter((link) => link.source_id === node.id);
  if (links.length === 0) return null;
  const nameOf = (id: string) => {
    const found = doc.nodes.find((one) => one.id === id);
    return text(found?.metadata.customized_name) || blocks.get(found?.block_id ?? '')?.name || id.slice(0, 8);
  };
  return (
    <section aria-label={say('node.goesTo')}>
      <h3 className="pb-1.5 text-sm font-medium">{say('node.goesTo')}</h3>
      <ul className="flex flex-col gap-1 text-[13px]">
        {links.map((link) => (
          <li key={link.id} className="flex items-center gap-2 rounded-lg bg-hover px-2.5 py-1">
            <span className="min-w-0 flex-1 truncate">
              {link.source_name} → {nameOf(link.sink_id)} · {link.sink_name}
            </span>
            <IconButton
              size="small"
              icon="close"
              label={say('node.unlink', { name: `${nameOf(link.sink_id)} ${link.sink_name}` })}
              onClick={() => store.edit((now) => disconnect(now, link.id))}
            />
          </li>
        ))}
      </ul>
    </section>
  );
}

const SIDES: [Side, 'align.left' | 'align.top' | 'align.row' | 'align.column'][] = [
  ['left', 'align.left'],
  ['top', 'align.top'],
  ['row', 'align.row'],
  ['column', 'align.column'],
];

function Several({ onDelete, onDuplicate }: Omit<Props, 'onFix'>) {
  const say = useSay();
  const { store } = useShared();
  const { chosen } = useBuilder(store);
  return (
    <>
      <h2 className="text-[15px] font-semibold">{say('edit.several', { count: chosen.size })}</h2>
      <div className="flex flex-wrap gap-2" role="group" aria-label={say('align.title')}>
        {SIDES.map(([side, word]) => (
          <Button key={side} small onClick={() => store.edit((doc) => moveNodes(doc, align(doc, chosen, side)))}>
            {say(word)}
          </Button>
        ))}
      </div>
      <div className="flex flex-wrap gap-2">
        <Button small icon="copy" onClick={onDuplicate}>
          {say('edit.duplicate')}
        </Button>
        <Button small icon="trash" onClick={onDelete}>
          {say('edit.delete')}
        </Button>
      </div>
    </>
  );
}

/** What the server's validation says about the draft, and the keys. */
function Overview({ onFix }: { onFix: () => void }) {
  const say = useSay();
  const { store, sync } = useShared();
  const { doc } = useBuilder(store);
  const { draft } = useSync(sync);
  const problems = [...draft.validation.errors, ...draft.validation.warnings];
  return (
    <>
      <div>
        <h2 className="text-[15px] font-semibold">{draft.name}</h2>
        <p className="pt-0.5 text-[13px] text-quiet">
          {say('overview.counts', { nodes: doc.nodes.length, links: doc.links.length })}
        </p>
      </div>
      {doc.nodes.length === 0 && <p className="text-sm text-quiet">{say('overview.empty')}</p>}
      {problems.length > 0 && <Problems problems={problems} onFix={onFix} linked />}
      {doc.nodes.length > 0 && problems.length === 0 && (
        <Notice tone="good" icon="check">
          {say('overview.fine')}
        </Notice>
      )}
      <Fold title={say('keys.title')}>
        <dl className="grid grid-cols-[auto_1fr] gap-x-4 gap-y-1.5 text-[13px]">
          {KEYS.map(([keys, word]) => (
            <div key={word} className="contents">
              <dt>
                <kbd className="rounded border border-line bg-hover px-1.5 py-0.5 font-mono text-[11px]">
                  {keys
                    .split(' ')
                    .map((key) => (key in KEY_NAMES ? say(KEY_NAMES[key as keyof typeof KEY_NAMES]) : key))
                    .join(' ')}
                </kbd>
              </dt>
              <dd className="text-quiet">{say(word)}</dd>
            </div>
          ))}
        </dl>
      </Fold>
    </>
  );
}

const KEYS = [
  ['/', 'keys.palette'],
  ['Enter', 'keys.open'],
  ['Esc', 'keys.back'],
  ['↑ ↓ ← →', 'keys.move'],
  ['Delete', 'keys.delete'],
  ['Ctrl Z', 'keys.undo'],
  ['Ctrl Shift Z', 'keys.redo'],
  ['Ctrl C / V', 'keys.copy'],
  ['Ctrl D', 'keys.duplicate'],
  ['Ctrl A', 'keys.all'],
  ['Ctrl Enter', 'keys.test'],
] as const;
/** Keys that keyboards of other languages label differently. */
const KEY_NAMES = { Ctrl: 'key.control', Shift: 'key.shift', Delete: 'key.delete' } as const;

function Problems({ problems, onFix, linked }: { problems: readonly Problem[]; onFix: () => void; linked?: boolean }) {
  const say = useSay();
  const { store } = useShared();
  const [all, setAll] = useState(false);
  const shown = all ? problems : problems.slice(0, 6);
  return (
    <Notice
      tone="attention"
      icon="warning"
      action={
        <Button small onClick={onFix}>
          {say('problems.fix')}
        </Button>
      }
    >
      <ul className="flex flex-col gap-1.5">
        {shown.map((problem, place) => (
          <li key={place}>
            {linked && problem.node_id ? (
              <button
                type="button"
                className="cursor-pointer text-left underline underline-offset-2"
                onClick={() => store.choose([problem.node_id!])}
              >
                {problem.message}
              </button>
            ) : (
              problem.message
            )}
          </li>
        ))}
      </ul>
      {problems.length > shown.length && (
        <button type="button" className="cursor-pointer pt-1 underline" onClick={() => setAll(true)}>
          {say('problems.all', { count: problems.length })}
        </button>
      )}
    </Notice>
  );
}
