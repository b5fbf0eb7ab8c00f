import { type ReactNode, useState } from 'react';
import { useLocation } from 'wouter';
import { Confirm } from '../components/Dialog';
import type { MenuEntry } from '../components/Menu';
import { useT } from '../i18n';
import { api } from '../api/chat';
import { queryClient } from '../api/queries';
import { toast } from '../app/toasts';
import type { SessionRow } from '../api/types';
import { errorText } from '../api/errorText';

type Named = Pick<SessionRow, 'id' | 'title' | 'pinned'>;

/** The menu entries of a conversation, with their confirmation dialog. */
export function useSessionActions(session: Named, onRename: () => void): { entries: MenuEntry[]; dialog: ReactNode } {
  const t = useT();
  const [path, go] = useLocation();
  const [asking, setAsking] = useState(false);
  const attempt = async (work: Promise<unknown>) => {
    try {
      await work;
    } catch (error) {
      toast(errorText(error, t), 'wrong');
    }
    await queryClient.invalidateQueries({ queryKey: ['sessions'] });
  };
  const remove = async () => {
    if (path === `/c/${session.id}`) go('/');
    await attempt(api.remove(session.id));
  };
  const entries: MenuEntry[] = [
    { label: t('sessions.rename'), icon: 'pencil', takesFocus: true, onSelect: onRename },
    {
      label: t(session.pinned ? 'sessions.unpin' : 'sessions.pin'),
      icon: 'pin',
      onSelect: () => void attempt(api.change(session.id, { pinned: !session.pinned })),
    },
    'line',
    {
      label: t('sessions.exportMarkdown'),
      icon: 'download',
      href: api.exportUrl(session.id, 'markdown'),
      download: true,
    },
    { label: t('sessions.exportJson'), icon: 'download', href: api.exportUrl(session.id, 'json'), download: true },
    'line',
    { label: t('sessions.delete'), icon: 'trash', danger: true, onSelect: () => setAsking(true) },
  ];
  const dialog = (
    <Confirm
      open={asking}
      onClose={() => setAsking(false)}
      onConfirm={() => void remove()}
      title={t('sessions.deleteTitle')}
      about={t('sessions.deleteAbout', { title: session.title || t('sessions.untitled') })}
      action={t('sessions.delete')}
    />
  );
  return { entries, dialog };
}
