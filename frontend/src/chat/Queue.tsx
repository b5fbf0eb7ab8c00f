import { useState } from 'react';
import { IconButton } from '../components/Button';
import { Icon, type IconName } from '../components/icons';
import { type Key, useT } from '../i18n';
import type { Entry } from '../messages/pendingEntries';
import type { SentMode } from '../api/types';
import type { Conversation } from './useConversation';

type Changes = Pick<Conversation, 'changeQueued' | 'removeQueued' | 'discard'>;
type Props = { pending: Entry[]; conversation: Changes; onEdit: (text: string) => void };

/** The messages sent during an answer: they are queued here and can be changed until they are answered. */
export function Queue({ pending, conversation, onEdit }: Props) {
  const t = useT();
  if (pending.length === 0) return null;
  return (
    <div className="mx-auto w-full max-w-3xl px-4 md:px-6">
      <ul
        aria-label={t('queue.title')}
        className="flex flex-col gap-1 rounded-t-xl border border-b-0 border-line bg-side p-1.5"
      >
        {pending.map((entry) => (
          <Waiting key={entry.key} entry={entry} conversation={conversation} onEdit={onEdit} />
        ))}
      </ul>
    </div>
  );
}

const MODE_ICONS: Record<SentMode, IconName> = { queue: 'clock', steer: 'steer', interrupt: 'bolt' };
const MODES: Record<SentMode, Key> = { queue: 'queue.waits', steer: 'queue.steers', interrupt: 'queue.interrupts' };

function Waiting({
  entry,
  conversation,
  onEdit,
}: {
  entry: Entry;
  conversation: Changes;
  onEdit: (text: string) => void;
}) {
  const t = useT();
  const [text, setText] = useState<string | null>(null);
  const { turn, clientId } = entry;
  if (text !== null && turn) {
    const keep = () => {
      setText(null);
      if (text.trim() && text !== entry.text) void conversation.changeQueued(turn, { message: text.trim() });
    };
    return (
      <li>
        <textarea
          autoFocus
          className="block field-sizing-content max-h-48 w-full resize-none rounded-lg border border-line-strong bg-card px-3 py-1.5 text-sm"
          aria-label={t('queue.edit')}
          value={text}
          onChange={(event) => setText(event.target.value)}
          onBlur={keep}
          onKeyDown={(event) => {
            if (event.key === 'Enter' && !event.shiftKey && !event.nativeEvent.isComposing) {
              event.preventDefault();
              keep();
            }
            if (event.key === 'Escape') setText(null);
          }}
        />
      </li>
    );
  }
  const remove = () => (turn ? void conversation.removeQueued(turn) : clientId && conversation.discard(clientId));
  return (
    <li className="flex items-center gap-1 rounded-lg pl-2 text-sm hover:bg-hover">
      <Icon name={MODE_ICONS[entry.mode]} size={15} className="text-quiet" />
      <span className="min-w-0 flex-1 truncate px-1.5">
        {entry.text || t('chat.fileCount', { count: entry.fileCount })}
      </span>
      <span className="hidden text-xs whitespace-nowrap text-quiet sm:inline">
        {t(turn ? MODES[entry.mode] : entry.state === 'refused' ? 'queue.refused' : 'queue.sending')}
      </span>
      {turn && (
        <>
          {entry.mode !== 'steer' && (
            <IconButton
              icon="steer"
              size="small"
              label={t('queue.steer')}
              onClick={() => void conversation.changeQueued(turn, { while_running: 'steer' })}
            />
          )}
          <IconButton
            icon="bolt"
            size="small"
            label={t('queue.interrupt')}
            onClick={() => void conversation.changeQueued(turn, { while_running: 'interrupt' })}
          />
          <IconButton icon="pencil" size="small" label={t('queue.edit')} onClick={() => setText(entry.text)} />
        </>
      )}
      {!turn && clientId && entry.state === 'refused' && (
        <IconButton
          icon="pencil"
          size="small"
          label={t('chat.takeBack')}
          onClick={() => {
            onEdit(entry.text);
            conversation.discard(clientId);
          }}
        />
      )}
      <IconButton icon="close" size="small" label={t('queue.remove')} onClick={remove} />
    </li>
  );
}
