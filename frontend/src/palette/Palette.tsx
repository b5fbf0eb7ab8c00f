import * as Dialog from '@radix-ui/react-dialog';
import { useQuery } from '@tanstack/react-query';
import { type KeyboardEvent, type ReactNode, useId, useState } from 'react';
import { useLocation } from 'wouter';
import { api } from '../api/chat';
import { errorText } from '../api/errorText';
import { useServerState } from '../browser/debounce';
import { classes } from '../components/classes';
import { Icon, type IconName } from '../components/icons';
import { type Key, useT } from '../i18n';

type Row = { key: string; icon: IconName; label: string; about?: string; href: string };

const PLACES: [string, IconName, Key][] = [
  ['/', 'plus', 'sessions.new'],
  ['/library', 'agent', 'nav.library'],
  ['/library/runs', 'play', 'library.runs'],
  ['/library/reviews', 'question', 'library.reviews'],
  ['/library/schedules', 'clock', 'library.schedules'],
  ['/account/settings', 'gear', 'account.settings'],
  ['/account/personal', 'user', 'personal.title'],
  ['/account/usage', 'chart', 'account.usage'],
];

/** A dialog in which one types to go somewhere: to a page, or to a message that contains the words. */
export default function Palette({ onClose }: { onClose: () => void }) {
  const t = useT();
  const [, go] = useLocation();
  const [typed, setTyped] = useState('');
  const [chosen, setChosen] = useState(0);
  const list = useId();
  const words = useServerState(typed.trim(), 150);
  const { data, error } = useQuery({
    queryKey: ['search', words],
    queryFn: () => api.search(words),
    enabled: words !== '',
    placeholderData: (before) => before,
  });
  const wanted = typed.trim().toLowerCase();
  const places: Row[] = PLACES.map(([href, icon, name]) => ({ key: href, href, icon, label: t(name) }));
  const hits: Row[] = (words ? (data ?? []) : []).map((hit) => ({
    key: hit.message_id ?? hit.session_id,
    icon: 'chat',
    label: hit.title || t('sessions.untitled'),
    about: hit.message_id ? hit.snippet : undefined,
    href: `/c/${hit.session_id}${hit.message_id ? `?message=${hit.message_id}` : ''}`,
  }));
  const rows = [...places.filter((row) => row.label.toLowerCase().includes(wanted)), ...hits];
  const at = Math.min(chosen, rows.length - 1);
  const take = (row: Row | undefined) => {
    if (!row) return;
    onClose();
    go(row.href);
  };
  const pressed = (event: KeyboardEvent) => {
    if (event.key === 'ArrowDown') setChosen(Math.min(at + 1, rows.length - 1));
    else if (event.key === 'ArrowUp') setChosen(Math.max(at - 1, 0));
    else if (event.key === 'Enter') take(rows[at]);
    else return;
    event.preventDefault();
  };
  return (
    <Dialog.Root open onOpenChange={(open) => !open && onClose()}>
      <Dialog.Portal>
        <div className="veil fixed inset-0 z-40 bg-black/40" aria-hidden="true" />
        <Dialog.Content
          aria-describedby={undefined}
          className="pop fixed top-[12vh] left-1/2 z-50 flex max-h-[70vh] w-[min(40rem,92vw)] -translate-x-1/2 flex-col overflow-hidden rounded-2xl border border-line bg-card shadow-lg outline-none"
        >
          <Dialog.Title className="sr-only">{t('palette.title')}</Dialog.Title>
          <div className="flex items-center gap-3 border-b border-line px-4">
            <Icon name="search" size={17} className="text-quiet" />
            <input
              autoFocus
              role="combobox"
              aria-expanded="true"
              aria-controls={list}
              aria-activedescendant={rows[at] && `${list}-${at}`}
              aria-label={t('palette.title')}
              placeholder={t('palette.placeholder')}
              className="bare-focus h-12 w-full bg-transparent placeholder:text-quiet"
              value={typed}
              onChange={(event) => {
                setTyped(event.target.value);
                setChosen(0);
              }}
              onKeyDown={pressed}
            />
          </div>
          <ul id={list} role="listbox" aria-label={t('palette.title')} className="min-h-0 overflow-y-auto p-2">
            {rows.map((row, place) => (
              <li
                key={row.key}
                id={`${list}-${place}`}
                role="option"
                aria-selected={place === at}
                ref={(element) => {
                  if (place === at) element?.scrollIntoView({ block: 'nearest' });
                }}
                className={classes(
                  'flex cursor-pointer items-start gap-3 rounded-lg px-3 py-2 text-sm',
                  place === at && 'bg-hover',
                )}
                onMouseMove={() => setChosen(place)}
                onClick={() => take(row)}
              >
                <Icon name={row.icon} size={16} className="mt-0.5 shrink-0 text-quiet" />
                <span className="min-w-0">
                  <span className="block truncate">{row.label}</span>
                  {row.about && <span className="line-clamp-2 text-[13px] text-quiet">{marked(row.about, words)}</span>}
                </span>
              </li>
            ))}
          </ul>
          <p role="status" className="px-5 pb-3 text-[13px] text-quiet empty:hidden">
            {error ? errorText(error, t) : rows.length === 0 ? t('sessions.nothingFound') : ''}
          </p>
        </Dialog.Content>
      </Dialog.Portal>
    </Dialog.Root>
  );
}

function marked(text: string, words: string): ReactNode {
  const place = text.toLowerCase().indexOf(words.toLowerCase());
  if (!words || place < 0) return text;
  return (
    <>
      {text.slice(0, place)}
      <mark className="rounded bg-accent-soft text-ink">{text.slice(place, place + words.length)}</mark>
      {text.slice(place + words.length)}
    </>
  );
}
