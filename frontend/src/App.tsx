import { useCallback, useEffect, useState } from 'react';
import { api, type SessionRow } from './api';
import { Conversation } from './Conversation';
import { useHints } from './events';
import { Sidebar } from './Sidebar';

const sessionInAddress = () => location.pathname.match(/^\/c\/([0-9a-f-]+)/)?.[1] ?? null;

export function App() {
  const [current, setCurrent] = useState<string | null>(sessionInAddress);
  const [sessions, setSessions] = useState<SessionRow[]>([]);
  const [search, setSearch] = useState('');
  const [menuOpen, setMenuOpen] = useState(false);
  const [beat, setBeat] = useState(0);

  const refresh = useCallback(() => {
    api.sessions(search).then((page) => setSessions(page.results), () => undefined);
  }, [search]);
  useEffect(refresh, [refresh]);
  useEffect(() => {
    const back = () => setCurrent(sessionInAddress());
    window.addEventListener('popstate', back);
    return () => window.removeEventListener('popstate', back);
  }, []);

  const connected = useHints((hint) => {
    refresh();
    if (hint.type === 'reconnected' || hint.session_id === current) setBeat((count) => count + 1);
  });

  const open = (id: string | null) => {
    history.pushState(null, '', id ? `/c/${id}` : '/');
    setCurrent(id);
    setMenuOpen(false);
  };
  const title = sessions.find((session) => session.id === current)?.title;
  useEffect(() => {
    document.title = title ? `${title} · Ratchet` : 'Ratchet';
  }, [title]);

  return (
    <div className="flex h-dvh overflow-hidden bg-page text-ink">
      <Sidebar
        sessions={sessions}
        current={current}
        search={search}
        open={menuOpen}
        onSearch={setSearch}
        onOpen={open}
        onChanged={refresh}
      />
      <main className="flex min-w-0 flex-1 flex-col" aria-label="Conversation">
        <header className="flex items-center gap-3 border-b border-line px-4 py-2 md:hidden">
          <button className="button" onClick={() => setMenuOpen(!menuOpen)} aria-expanded={menuOpen}>
            Menu
          </button>
          <span className="truncate font-medium">{title || 'New chat'}</span>
        </header>
        {!connected && (
          <p role="status" className="bg-notice px-4 py-1 text-center text-sm">
            Reconnecting…
          </p>
        )}
        <Conversation key={current ?? 'new'} session={current} beat={beat} onCreated={open} />
      </main>
    </div>
  );
}
