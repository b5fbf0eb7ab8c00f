import { useState } from 'react';
import { api, type SessionRow } from './api';

type Props = {
  sessions: SessionRow[];
  current: string | null;
  search: string;
  open: boolean;
  onSearch: (words: string) => void;
  onOpen: (id: string | null) => void;
  onChanged: () => void;
};

export function Sidebar({ sessions, current, search, open, onSearch, onOpen, onChanged }: Props) {
  return (
    <nav
      aria-label="Conversations"
      className={`${open ? 'absolute inset-0 z-10 flex' : 'hidden'} w-full flex-col gap-3 border-r border-line bg-side p-3 md:static md:flex md:w-72`}
    >
      <div className="flex items-center gap-2 px-1 pt-1 text-lg font-semibold">
        <img src="/static/site/icon.svg" alt="" width={28} height={28} /> Ratchet
      </div>
      <button className="button-strong" onClick={() => onOpen(null)}>
        New chat
      </button>
      <input
        className="field"
        type="search"
        placeholder="Search conversations"
        aria-label="Search conversations"
        value={search}
        onChange={(event) => onSearch(event.target.value)}
      />
      <ul className="min-h-0 flex-1 space-y-1 overflow-y-auto">
        {sessions.map((session) => (
          <Row key={session.id} session={session} active={session.id === current} onOpen={onOpen} onChanged={onChanged} />
        ))}
        {sessions.length === 0 && <li className="px-2 py-4 text-sm text-quiet">{search ? 'Nothing found.' : 'No conversations yet.'}</li>}
      </ul>
      <div className="flex gap-3 border-t border-line px-1 pt-2 text-sm">
        <a href="/admin/">Admin</a>
        <a href="/api/docs/">API</a>
        <a href="/password/">Account</a>
      </div>
    </nav>
  );
}

type RowProps = { session: SessionRow; active: boolean; onOpen: (id: string | null) => void; onChanged: () => void };

function Row({ session, active, onOpen, onChanged }: RowProps) {
  const [title, setTitle] = useState<string | null>(null);
  const rename = async () => {
    if (title?.trim()) await api.rename(session.id, title.trim());
    setTitle(null);
    onChanged();
  };
  const remove = async () => {
    if (!confirm(`Delete “${session.title || 'New conversation'}”? This cannot be undone.`)) return;
    await api.remove(session.id);
    if (active) onOpen(null);
    onChanged();
  };
  if (title !== null) {
    return (
      <li>
        <form action={rename}>
          <input
            autoFocus
            className="field"
            aria-label="New title"
            maxLength={200}
            value={title}
            onChange={(event) => setTitle(event.target.value)}
            onBlur={rename}
            onKeyDown={(event) => event.key === 'Escape' && setTitle(null)}
          />
        </form>
      </li>
    );
  }
  return (
    <li className={`group flex items-center rounded-lg ${active ? 'bg-chosen' : 'hover:bg-chosen'}`}>
      <button className="flex min-w-0 flex-1 items-center gap-2 px-2 py-2 text-left text-sm" onClick={() => onOpen(session.id)} aria-current={active ? 'page' : undefined}>
        {session.status !== 'idle' && <span className={`dot ${session.status}`} role="img" aria-label={session.status} />}
        <span className="truncate">{session.title || 'New conversation'}</span>
      </button>
      <span className="row-actions flex">
        <button className="icon" aria-label={`Rename ${session.title}`} onClick={() => setTitle(session.title)}>
          ✎
        </button>
        <button className="icon" aria-label={`Delete ${session.title}`} onClick={remove}>
          ✕
        </button>
      </span>
    </li>
  );
}
