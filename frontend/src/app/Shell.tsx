import * as Dialog from '@radix-ui/react-dialog';
import { type ReactNode, useEffect, useMemo, useState } from 'react';
import { useLocation } from 'wouter';
import { classes } from '../components/classes';
import { useT } from '../i18n';
import { useFreshSessions } from '../api/queries';
import { useTabNotifications } from '../notifications/useTabNotifications';
import { useWaitingMarks } from '../notifications/useAttention';
import { usePalette } from '../palette/usePalette';
import { Sidebar } from '../sessions/Sidebar';
import { DrawerContext } from './menu';
import { useThemeOfAccount } from './theme';
import { Toasts } from './Toasts';

/** The frame of every page: the conversations at the side (a drawer on small screens) and the page. */
export function Shell({ skip, children }: { skip: string; children: ReactNode }) {
  const [open, set] = useState(false);
  const [path] = useLocation();
  const wide = /^\/library\/agents\/[^/]+\/edit$/.test(path); // the builder needs the room
  const drawer = useMemo(() => ({ open, set }), [open]);
  useEffect(() => set(false), [path]);
  useFreshSessions();
  useThemeOfAccount();
  useWaitingMarks();
  useTabNotifications();
  const palette = usePalette();
  return (
    <DrawerContext value={drawer}>
      <a href="#main" className="skip">
        {skip}
      </a>
      <div className="flex h-dvh overflow-hidden">
        {!wide && (
          <div className="hidden w-72 shrink-0 border-r border-line bg-side md:block">
            <Sidebar />
          </div>
        )}
        <SmallScreenDrawer always={wide} open={open} onClose={() => set(false)} />
        <main id="main" className="flex min-w-0 flex-1 flex-col" tabIndex={-1}>
          {children}
        </main>
      </div>
      <Toasts />
      {palette}
    </DrawerContext>
  );
}

type DrawerProps = { open: boolean; always: boolean; onClose: () => void };

function SmallScreenDrawer({ open, always, onClose }: DrawerProps) {
  const t = useT();
  return (
    <Dialog.Root open={open} onOpenChange={(now) => !now && onClose()}>
      <Dialog.Portal>
        <div className={classes('veil fixed inset-0 z-30 bg-black/40', !always && 'md:hidden')} aria-hidden="true" />
        <Dialog.Content
          aria-describedby={undefined}
          tabIndex={-1}
          onOpenAutoFocus={(event) => {
            event.preventDefault();
            (event.currentTarget as HTMLElement).focus();
          }}
          className={classes(
            'fixed inset-y-0 left-0 z-40 w-[min(20rem,85vw)] border-r border-line bg-side outline-none',
            !always && 'md:hidden',
          )}
        >
          <Dialog.Title className="sr-only">{t('sessions.title')}</Dialog.Title>
          <Sidebar onClose={onClose} />
        </Dialog.Content>
      </Dialog.Portal>
    </Dialog.Root>
  );
}
