import { IconButton } from '../components/Button';
import { useT } from '../i18n';
import type { ChatMessage } from '../api/types';
import { useConversationActions } from './conversationActions';

type Props = { versions: ChatMessage['versions']; of: 'answer' | 'message' };

/** Arrows between several answers to a message, or several wordings of it; the chosen one is shown on all devices. */
export function VersionSwitch({ versions = [], of }: Props) {
  const t = useT();
  const { busy, show } = useConversationActions();
  if (versions.length < 2) return null;
  const place = Math.max(
    versions.findIndex((version) => version.shown),
    0,
  );
  const step = (by: -1 | 1) => {
    const wanted = versions[place + by];
    if (wanted) show(wanted.turn_id);
  };
  return (
    <span
      role="group"
      aria-label={t(of === 'answer' ? 'versions.title' : 'versions.wordings')}
      className="flex shrink-0 items-center text-xs text-quiet"
    >
      <IconButton
        icon="left"
        size="small"
        label={t(of === 'answer' ? 'versions.before' : 'versions.beforeWording')}
        disabled={busy || place === 0}
        onClick={() => step(-1)}
      />
      <span role="status">{t('versions.place', { place: place + 1, count: versions.length })}</span>
      <IconButton
        icon="right"
        size="small"
        label={t(of === 'answer' ? 'versions.after' : 'versions.afterWording')}
        disabled={busy || place === versions.length - 1}
        onClick={() => step(1)}
      />
    </span>
  );
}
