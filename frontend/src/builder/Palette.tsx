import { useQuery } from '@tanstack/react-query';
import { type KeyboardEvent, useId, useMemo, useRef, useState } from 'react';
import { Icon } from '../components/icons';
import { FIELD } from '../components/Field';
import { classes } from '../components/classes';
import { libraryApi } from '../library/api';
import { useShared } from './context';
import { AGENT_EXECUTOR, type Block } from './pins';
import { useSay, type Word } from './words';

export const DRAGGED = 'application/x-ratchet-block';
type Entry = { id: string; name: string; about: string; group: string; block: Block; values?: Record<string, unknown> };

/** The blocks and one's own agents: dragged onto the canvas, or added with a click or Enter. */
export function Palette({ onAdded }: { onAdded: () => void }) {
  const say = useSay();
  const { add } = useShared();
  const [words, setWords] = useState('');
  const [at, setAt] = useState(0);
  const list = useRef<HTMLDivElement>(null);
  const id = useId();
  const entries = useEntries(words);
  const place = Math.min(at, Math.max(entries.length - 1, 0));
  const take = (entry: Entry | undefined) => {
    if (!entry) return;
    add(entry.block, entry.values);
    onAdded();
  };
  const pressed = (event: KeyboardEvent) => {
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
    if (step) {
      event.preventDefault();
      const next = Math.max(0, Math.min(entries.length - 1, place + step));
      setAt(next);
      list.current?.querySelector(`[data-place="${next}"]`)?.scrollIntoView({ block: 'nearest' });
    }
    if (event.key === 'Enter') {
      event.preventDefault();
      take(entries[place]);
    }
  };
  return (
    <section aria-label={say('palette.title')} className="flex h-full min-h-0 flex-col">
      <div className="relative p-3">
        <Icon name="search" size={15} className="absolute top-1/2 left-5.5 -translate-y-1/2 text-quiet" />
        <input
          type="search"
          role="combobox"
          aria-expanded="true"
          aria-controls={id}
          aria-activedescendant={entries[place] ? `${id}-${place}` : undefined}
          aria-label={say('palette.search')}
          placeholder={say('palette.search')}
          className={classes(FIELD, 'builder-search pl-8')}
          value={words}
          onChange={(event) => {
            setWords(event.target.value);
            setAt(0);
          }}
          onKeyDown={pressed}
        />
      </div>
      <div ref={list} tabIndex={0} className="min-h-0 flex-1 overflow-y-auto px-3 pb-3">
        <div id={id} role="listbox" aria-label={say('palette.title')}>
          {entries.map((entry, number) => (
            <div key={entry.id} role="presentation">
              {entry.group !== entries[number - 1]?.group && (
                <div
                  role="presentation"
                  className="px-2 pt-3 pb-1 text-[11px] font-semibold tracking-wide text-quiet uppercase"
                >
                  {entry.group}
                </div>
              )}
              <div
                id={`${id}-${number}`}
                role="option"
                aria-selected={number === place}
                data-place={number}
                draggable
                title={entry.about}
                className={classes(
                  'flex cursor-grab items-center gap-2.5 rounded-lg px-2 py-2 text-[13px] hover:bg-hover active:cursor-grabbing',
                  number === place && words && 'bg-chosen',
                )}
                onClick={() => take(entry)}
                onDragStart={(event) => {
                  event.dataTransfer.setData(DRAGGED, entry.block.id);
                  if (entry.values) event.dataTransfer.setData(`${DRAGGED}.values`, JSON.stringify(entry.values));
                  event.dataTransfer.effectAllowed = 'copy';
                }}
              >
                <Icon name={entry.values ? 'agent' : 'block'} size={15} className="text-quiet" />
                <span className="min-w-0 flex-1 truncate">{entry.name}</span>
              </div>
            </div>
          ))}
        </div>
        {entries.length === 0 && <p className="p-3 text-sm text-quiet">{say('palette.nothing')}</p>}
      </div>
    </section>
  );
}

/** The categories of blocks, in the order of their groups. */
const CATEGORIES = new Map<string, Word>([
  ['INPUT', 'category.input'],
  ['OUTPUT', 'category.output'],
  ['TEXT', 'category.text'],
  ['AI', 'category.ai'],
  ['LOGIC', 'category.logic'],
  ['DATA', 'category.data'],
  ['BASIC', 'category.basic'],
  ['SEARCH', 'category.search'],
  ['SOCIAL', 'category.social'],
  ['DEVELOPER_TOOLS', 'category.developerTools'],
  ['AGENT', 'category.agent'],
]);
const ORDER = [...CATEGORIES.keys()];

function useEntries(words: string): Entry[] {
  const say = useSay();
  const { blocks, agent } = useShared();
  const { data } = useQuery({ queryKey: ['builder', 'agents'], queryFn: () => libraryApi.agents('', null) });
  return useMemo(() => {
    const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
    const rank = (category: string) => (ORDER.indexOf(category) + 1 || ORDER.length + 1) - 1;
    const groupOf = (category: string) => {
      const word = CATEGORIES.get(category);
      return word ? say(word) : readable(category);
    };
    const own = [...blocks.values()]
      .filter((block) => block.id !== AGENT_EXECUTOR)
      .sort((one, two) => rank(one.category) - rank(two.category) || one.name.localeCompare(two.name))
      .map((block): Entry => ({
        id: block.id,
        name: block.name,
        about: block.description,
        group: groupOf(block.category),
        block,
      }));
    const executor = blocks.get(AGENT_EXECUTOR);
    const agents = (executor && data?.results.filter((one) => one.id !== agent)) || [];
    const listed = agents.map((one): Entry => ({
      id: one.id,
      name: one.name,
      about: one.description,
      group: say('palette.agents'),
      block: executor!,
      values: {
        graph_id: one.id,
        graph_version: one.version,
        agent_name: one.name,
        input_schema: one.input_schema,
        output_schema: one.output_schema,
      },
    }));
    const fits = (entry: Entry) =>
      wanted.every((word) => `${entry.name} ${entry.about} ${entry.group}`.toLowerCase().includes(word));
    const found = [...own, ...listed].filter(fits);
    const named = (entry: Entry) => Number(wanted.every((word) => entry.name.toLowerCase().includes(word)));
    return wanted.length ? found.sort((one, two) => named(two) - named(one)) : found;
  }, [blocks, data, words, agent, say]);
}

/** A category that this page does not know yet. */
const readable = (category: string) =>
  category.charAt(0).toUpperCase() + category.slice(1).toLowerCase().replaceAll('_', ' ');
