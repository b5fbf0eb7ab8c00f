import { type ReactNode, useEffect } from 'react';
import { useLocation } from 'wouter';
import { IconButton } from '../components/Button';
import { classes } from '../components/classes';
import { Loading } from '../components/Pieces';
import { useT } from '../i18n';
import { setPageName } from '../browser/pageTitle';
import { useConnected } from '../live/hints';
import { useDrawer } from './menu';

type BarProps = { title: ReactNode; name: string; children?: ReactNode };

/** The header of every page: the menu button on small screens, the title, the actions. */
export function Bar({ title, name, children }: BarProps) {
  const t = useT();
  const drawer = useDrawer();
  useEffect(() => {
    setPageName(name);
  }, [name]);
  return (
    <header
      className={classes(
        'flex h-14 shrink-0 items-center gap-2 px-3 md:px-5',
        title !== null && 'border-b border-line',
      )}
    >
      <IconButton
        icon="menu"
        label={t('app.openMenu')}
        className="md:hidden"
        aria-expanded={drawer.open}
        onClick={() => drawer.set(true)}
      />
      <div className="min-w-0 flex-1">{title}</div>
      <Connection />
      {children}
      <NewConversation />
    </header>
  );
}

/** On small screens the drawer is closed, so a new conversation is one tap away here. */
function NewConversation() {
  const t = useT();
  const [path, go] = useLocation();
  if (path === '/') return null;
  return <IconButton icon="plus" label={t('sessions.new')} className="md:hidden" onClick={() => go('/')} />;
}

/** A page with one readable column. */
export function Page({ title, actions, children }: { title: string; actions?: ReactNode; children: ReactNode }) {
  return (
    <>
      <Bar name={title} title={<h1 className="truncate text-base font-semibold">{title}</h1>}>
        {actions}
      </Bar>
      <div className="min-h-0 flex-1 overflow-y-auto" tabIndex={0} role="region" aria-label={title}>
        <div className="mx-auto w-full max-w-5xl p-4 pb-16 md:p-8">{children}</div>
      </div>
    </>
  );
}

/** The placeholder of a page that is loading, with its menu button. */
export function LoadingPage() {
  return (
    <>
      <Bar name="" title={<span />} />
      <Loading />
    </>
  );
}

function Connection() {
  const t = useT();
  const connected = useConnected();
  return (
    <span role="status" className="text-[13px] text-quiet">
      {!connected && (
        <span className="inline-flex items-center gap-2 rounded-full bg-hover px-3 py-1">
          <span className="dot" data-status="running" /> {t('app.reconnecting')}
        </span>
      )}
    </span>
  );
}
