import { useEffect, useRef } from 'react';
import { useLocation } from 'wouter';
import { Spinner } from '../components/Button';
import { useT } from '../i18n';
import { useSessions } from '../api/queries';
import { errorText } from '../api/errorText';
import { grouped } from './groups';
import { SessionItem } from './SessionItem';

export function SessionList({ search }: { search: string }) {
  const t = useT();
  const [path] = useLocation();
  const { data, sessions, error, more, busy } = useSessions(search);
  return (
    <div className="min-h-0 flex-1 overflow-y-auto px-2 pb-3">
      {grouped(sessions).map((group) => (
        <section key={group.name} aria-label={t(group.name)}>
          <h2 className="px-2.5 pt-3 pb-1 text-xs font-medium text-quiet">{t(group.name)}</h2>
          <ul className="flex flex-col gap-px">
            {group.sessions.map((session) => (
              <SessionItem key={session.id} session={session} current={path === `/c/${session.id}`} />
            ))}
          </ul>
        </section>
      ))}
      {data && !error && sessions.length === 0 && (
        <p className="px-2.5 py-6 text-sm text-quiet">{t(search ? 'sessions.nothingFound' : 'sessions.none')}</p>
      )}
      {error && sessions.length === 0 && <p className="px-2.5 py-6 text-sm text-wrong">{errorText(error, t)}</p>}
      {more && <More onSeen={more} busy={busy} />}
    </div>
  );
}

/** The end of the list: loads more when it becomes visible. */
function More({ onSeen, busy }: { onSeen: () => void; busy: boolean }) {
  const end = useRef<HTMLDivElement>(null);
  const latest = useRef(onSeen);
  latest.current = onSeen;
  useEffect(() => {
    const observer = new IntersectionObserver(([entry]) => entry?.isIntersecting && latest.current());
    if (end.current) observer.observe(end.current);
    return () => observer.disconnect();
  }, [busy]);
  return (
    <div ref={end} className="flex justify-center p-3 text-quiet">
      {busy && <Spinner />}
    </div>
  );
}
