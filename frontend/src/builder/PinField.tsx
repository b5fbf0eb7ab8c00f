import { useQuery } from '@tanstack/react-query';
import { useEffect, useMemo, useRef, useState } from 'react';
import { Link } from 'wouter';
import { IconButton } from '../components/Button';
import { SelectField } from '../components/Field';
import { Icon } from '../components/icons';
import { Menu } from '../components/Menu';
import { text } from '../api/looseValues';
import { libraryApi } from '../library/api';
import { fieldsOf, type FormField } from '../library/schema';
import { OneField } from '../library/SchemaForm';
import { fitBetween, joinPins } from './connections';
import { useShared } from './context';
import { disconnect, type Doc, type LinkDoc, type NodeDoc, setValue } from './document';
import { type Blocks, type Pin, pinsOf, titleOf } from './pins';
import { useBuilder } from './store';
import { useSay } from './words';

type Props = { node: NodeDoc; pin: Pin; into: readonly LinkDoc[]; problem?: string };

/** One input of a node: a value that is typed, or the output of another node. */
export function PinField({ node, pin, into, problem }: Props) {
  const link = into.find((one) => one.sink_name === pin.name);
  if (pin.schema.format === 'credentials') return <CredentialPicker node={node} pin={pin} />;
  return (
    <div className="flex flex-col gap-1.5">
      {link ? <Linked node={node} pin={pin} link={link} /> : <Typed node={node} pin={pin} problem={problem} />}
      {!link && <Source node={node} pin={pin} />}
    </div>
  );
}

function Linked({ pin, link }: { node: NodeDoc; pin: Pin; link: LinkDoc }) {
  const say = useSay();
  const { store, blocks } = useShared();
  const { doc } = useBuilder(store);
  const source = doc.nodes.find((one) => one.id === link.source_id);
  const from = `${source ? titleOf(source, blocks).title : '?'} · ${link.source_name}`;
  return (
    <div className="flex flex-col gap-1.5">
      <span className="text-sm font-medium">{pin.label}</span>
      <span className="flex items-center gap-2 rounded-lg bg-accent-soft px-3 py-1.5 text-[13px] text-accent-text">
        <span className="min-w-0 flex-1 truncate">{say('pin.from', { name: from })}</span>
        <IconButton
          size="small"
          icon="close"
          label={say('node.unlink', { name: pin.label })}
          onClick={() => store.edit((now) => disconnect(now, link.id))}
        />
      </span>
    </div>
  );
}

function Typed({ node, pin, problem }: { node: NodeDoc; pin: Pin; problem?: string }) {
  const say = useSay();
  const { store } = useShared();
  const one = useMemo(() => fieldOf(pin), [pin]);
  const value = node.input_default[pin.name];
  const [typed, setTyped] = useState(() => asText(value));
  const [wrong, setWrong] = useState(false);
  const sent = useRef(value);
  useEffect(() => {
    if (sent.current === value) return;
    sent.current = value;
    setTyped(asText(value));
    setWrong(false);
  }, [value]);
  const change = (next: string) => {
    setTyped(next);
    const parsed = parse(one, next);
    setWrong(parsed === WRONG);
    if (parsed === WRONG) return;
    sent.current = parsed;
    store.edit((doc) => setValue(doc, node.id, pin.name, parsed), `${node.id} ${pin.name}`);
  };
  const shown = one.kind === 'flag' && typed === '' ? one.initial : typed;
  return (
    <div onBlur={() => store.settle()}>
      <OneField
        one={one}
        value={shown}
        problem={wrong ? say(one.kind === 'number' ? 'pin.noNumber' : 'pin.noJson') : problem}
        onChange={change}
      />
    </div>
  );
}

const WRONG = Symbol('wrong');

/** The field of a form; text may have several lines. */
function fieldOf(pin: Pin): FormField {
  const branch = Array.isArray(pin.schema.anyOf)
    ? (pin.schema.anyOf as Pin['schema'][]).find((option) => option.type !== 'null')
    : undefined;
  const schema = { ...pin.schema, ...branch, title: pin.label };
  const [one] = fieldsOf({ properties: { [pin.name]: schema }, required: pin.required ? [pin.name] : [] });
  const kind = one!.kind === 'line' && (schema.type === 'string' || schema.type === undefined) ? 'text' : one!.kind;
  return { ...one!, kind };
}

function parse(one: FormField, typed: string): unknown {
  if (one.kind === 'flag') return typed === 'true';
  if (typed === '') return undefined;
  if (one.kind === 'number') {
    const value = Number(typed);
    return Number.isFinite(value) && (!one.whole || Number.isInteger(value)) ? value : WRONG;
  }
  if (one.kind !== 'json') return typed;
  try {
    return JSON.parse(typed) as unknown;
  } catch {
    return WRONG;
  }
}

const asText = (value: unknown): string =>
  value === undefined || value === null ? '' : typeof value === 'string' ? value : JSON.stringify(value);

type Offer = { id: string; pin: string; label: string };

/** Connects the input by choosing an output from a list: the way for a keyboard and for fingers. */
function Source({ node, pin }: { node: NodeDoc; pin: Pin }) {
  const say = useSay();
  const { store, blocks } = useShared();
  const { doc } = useBuilder(store);
  const offers = useMemo(() => offersFor(doc, blocks, node, pin), [doc, blocks, node, pin]);
  if (offers.length === 0) return null;
  const take = ({ id, pin: output }: Offer) =>
    joinPins(store, blocks, { source_id: id, source_name: output, sink_id: node.id, sink_name: pin.name });
  return (
    <Menu
      align="start"
      trigger={
        <button
          type="button"
          aria-label={say('pin.source', { name: pin.label })}
          className="flex w-fit cursor-pointer items-center gap-1 rounded text-xs text-quiet hover:text-ink"
        >
          <Icon name="branch" size={13} /> {say('pin.take')}
        </button>
      }
      entries={offers.map((offer) => ({ label: offer.label, onSelect: () => take(offer) }))}
    />
  );
}

function offersFor(doc: Doc, blocks: Blocks, node: NodeDoc, pin: Pin): Offer[] {
  return doc.nodes
    .filter((one) => one.id !== node.id && blocks.get(one.block_id)?.type !== 'note')
    .flatMap((one) =>
      pinsOf(one, blocks.get(one.block_id), [], [])
        .outputs.filter((output) => {
          const ends = { source_id: one.id, source_name: output.name, sink_id: node.id, sink_name: pin.name };
          return fitBetween(doc, blocks, ends).how !== 'no';
        })
        .map((output) => ({
          id: one.id,
          pin: output.name,
          label: `${titleOf(one, blocks).title} · ${output.name}`,
        })),
    );
}

function CredentialPicker({ node, pin }: { node: NodeDoc; pin: Pin }) {
  const say = useSay();
  const { store, blocks } = useShared();
  const provider = blocks.get(node.block_id)?.credentials ?? '';
  const { data } = useQuery({ queryKey: ['credentials', 'all'], queryFn: () => libraryApi.credentials(null) });
  const stored = (data?.results ?? []).filter((one) => one.provider === provider);
  const value = text((node.input_default[pin.name] as { id?: unknown } | null)?.id);
  const choose = (id: string) => {
    const found = stored.find((one) => one.id === id);
    const reference = found && { id: found.id, provider: found.provider, type: found.kind, title: found.title };
    store.edit((doc) => setValue(doc, node.id, pin.name, reference));
  };
  return (
    <SelectField
      label={say('pin.credential', { provider })}
      value={value}
      about={
        <Link href="/library/credentials" className="link">
          {say('pin.addCredential')}
        </Link>
      }
      choices={[
        { value: '', label: say('pin.automatic') },
        ...stored.map((one) => ({ value: one.id, label: one.title || one.provider })),
      ]}
      onChange={(event) => choose(event.target.value)}
    />
  );
}
