import { useState } from 'react';
import { Link } from 'wouter';
import { IconButton } from '../components/Button';
import { classes } from '../components/classes';
import { Icon } from '../components/icons';
import { Menu } from '../components/Menu';
import { type Key, useT } from '../i18n';
import type { SessionRow } from '../api/types';
import { RenameForm } from './RenameForm';
import { useSessionActions } from './useSessionActions';

export function SessionItem({ session, current }: { session: SessionRow; current: boolean }) {
  const t = useT();
  const [renaming, setRenaming] = useState(false);
  const { entries, dialog } = useSessionActions(session, () => setRenaming(true));
  const title = session.title || t('sessions.untitled');
  if (renaming) {
    return (
      <li>
        <RenameForm session={session} onDone={() => setRenaming(false)} />
      </li>
    );
  }
  return (
    <li className={classes('group/row flex items-center rounded-lg pr-1', current ? 'bg-chosen' : 'hover:bg-hover')}>
      <Link
        href={`/c/${session.id}`}
        aria-current={current ? 'page' : undefined}
        className="flex min-w-0 flex-1 items-center gap-2 py-2 pl-2.5 text-sm"
      >
        {session.parent && <Icon name="branch" size={14} className="text-quiet" />}
        <span className={classes('min-w-0 flex-1 truncate', session.unread && !current && 'font-semibold')}>
          {title}
        </span>
        <Status session={current ? { ...session, unread: false } : session} />
      </Link>
      <span className="on-hover group-hover/row:opacity-100">
        <Menu
          trigger={<IconButton icon="more" size="small" label={t('sessions.actions', { title })} />}
          entries={entries}
        />
      </span>
      {dialog}
    </li>
  );
}

/** The status badge: running, queued, waiting for the user, or unread; none otherwise. */
export function Status({ session }: { session: Pick<SessionRow, 'status' | 'needs_you' | 'unread'> }) {
  const t = useT();
  const status =
    session.status !== 'idle' ? session.status : session.needs_you ? 'needs-you' : session.unread ? 'unread' : null;
  if (!status) return null;
  const names: Record<string, Key> = {
    running: 'status.running',
    queued: 'status.queued',
    'needs-you': 'status.needsYou',
    unread: 'status.unread',
  };
  const label = t(names[status]!);
  return <span className="dot" data-status={status} role="img" aria-label={label} title={label} />;
}
