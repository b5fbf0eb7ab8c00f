// Conversations grouped for the sidebar: pinned, then by last use.
import type { Key } from '../i18n';
import type { SessionRow } from '../api/types';

export type Group = { name: Key; sessions: SessionRow[] };

const DAY = 86_400_000;
const AGES: [Key, number][] = [
  ['sessions.today', 0],
  ['sessions.yesterday', 1],
  ['sessions.thisWeek', 7],
  ['sessions.thisMonth', 30],
  ['sessions.older', Infinity],
];

export function grouped(sessions: readonly SessionRow[], now = new Date()): Group[] {
  const groups = new Map<Key, SessionRow[]>();
  for (const session of sessions) {
    const name = session.pinned ? 'sessions.pinned' : ageOf(session, now);
    groups.set(name, [...(groups.get(name) ?? []), session]);
  }
  const order: Key[] = ['sessions.pinned', ...AGES.map(([name]) => name)];
  return order.flatMap((name) => (groups.has(name) ? [{ name, sessions: groups.get(name)! }] : []));
}

function ageOf(session: SessionRow, now: Date): Key {
  const midnight = new Date(now.getFullYear(), now.getMonth(), now.getDate()).getTime();
  const days = Math.max(0, Math.ceil((midnight - new Date(session.active_at).getTime()) / DAY));
  return AGES.find(([, most]) => days <= most)![0];
}
