import { type ReactNode, useState } from 'react';
import { Link, useLocation } from 'wouter';
import { IconButton } from '../components/Button';
import { classes } from '../components/classes';
import { Icon, type IconName, Mark } from '../components/icons';
import { Menu, type MenuEntry } from '../components/Menu';
import { useT } from '../i18n';
import { useServerState } from '../browser/debounce';
import { ApiError, csrfToken } from '../api/http';
import { useMe } from '../api/queries';
import { useAttention } from '../notifications/useAttention';
import { switchOff } from '../notifications/device';
import { SessionList } from './SessionList';

export function Sidebar({ onClose }: { onClose?: () => void }) {
  const t = useT();
  const [search, setSearch] = useState('');
  const words = useServerState(search.trim(), 200);
  return (
    <nav aria-label={t('sessions.title')} className="flex h-full flex-col">
      <div className="flex h-14 items-center gap-2.5 px-4">
        <Link href="/" className="flex flex-1 items-center gap-2.5 text-[15px] font-semibold">
          <Mark size={26} /> Ratchet
        </Link>
        {onClose && <IconButton icon="close" label={t('common.close')} onClick={onClose} />}
      </div>
      <div className="flex flex-col gap-2 px-3 pb-2">
        <Link
          href="/"
          className="flex h-9 items-center gap-2 rounded-lg border border-line bg-card px-3 text-sm font-medium shadow-xs hover:bg-hover"
          onClick={onClose}
        >
          <Icon name="plus" size={16} /> {t('sessions.new')}
        </Link>
        <div className="relative">
          <Icon name="search" size={15} className="absolute top-2.5 left-3 text-quiet" />
          <input
            type="search"
            className="h-9 w-full rounded-lg bg-hover pr-3 pl-9 text-sm placeholder:text-quiet"
            placeholder={t('sessions.search')}
            aria-label={t('sessions.search')}
            value={search}
            onChange={(event) => setSearch(event.target.value)}
          />
        </div>
      </div>
      <SessionList search={words} />
      <Foot />
    </nav>
  );
}

function Foot() {
  const t = useT();
  const { data: me, error } = useMe();
  const reviews = useAttention()?.reviews ?? 0;
  const nobody = error instanceof ApiError && error.status === 401;
  const more: MenuEntry[] = [
    ...(me?.admin_url
      ? ([
          { label: t('nav.admin'), icon: 'shield', href: me.admin_url },
          { label: t('nav.styleguide'), icon: 'block', href: '/styleguide' },
        ] as const)
      : []),
    { label: t('nav.api'), icon: 'terminal', href: '/api/docs/' },
    'line',
    nobody
      ? { label: t('nav.login'), icon: 'user', href: '/login/' }
      : { label: t('nav.logout'), icon: 'open', onSelect: () => void switchOff().finally(logOut) },
  ];
  return (
    <div className="flex flex-col gap-0.5 border-t border-line p-2">
      <Place href="/library" icon="agent">
        {t('nav.library')}
      </Place>
      {reviews > 0 && (
        <Place href="/library/reviews" icon="bell">
          {t('nav.reviewsWaiting', { count: reviews })}
        </Place>
      )}
      <div className="flex items-center gap-1">
        <Place href="/account" icon="user">
          {me?.username ?? t('nav.account')}
        </Place>
        <Menu side="top" trigger={<IconButton icon="more" label={t('nav.more')} size="small" />} entries={more} />
      </div>
    </div>
  );
}

function Place({ href, icon, children }: { href: string; icon: IconName; children: ReactNode }) {
  const [path] = useLocation();
  const here = path === href || path.startsWith(`${href}/`);
  return (
    <Link
      href={href}
      aria-current={here ? 'page' : undefined}
      className={classes(
        'flex min-w-0 flex-1 items-center gap-2.5 rounded-lg px-2.5 py-2 text-sm',
        here ? 'bg-chosen font-medium' : 'hover:bg-hover',
      )}
    >
      <Icon name={icon} size={17} className="text-quiet" />
      <span className="truncate">{children}</span>
    </Link>
  );
}

/** Logging out changes state, so it is a form with the CSRF token. */
function logOut(): void {
  const form = document.createElement('form');
  form.method = 'post';
  form.action = '/logout/';
  const token = document.createElement('input');
  token.name = 'csrfmiddlewaretoken';
  token.value = csrfToken();
  form.append(token);
  document.body.append(form);
  form.submit();
}
