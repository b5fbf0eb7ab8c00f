import { memo, useState } from 'react';
import { Button, IconButton } from '../components/Button';
import { FIELD } from '../components/Field';
import { CopyButton } from '../components/Pieces';
import { classes } from '../components/classes';
import { useT } from '../i18n';
import { textOf } from '../messages/history';
import type { ChatMessage } from '../api/types';
import { Attached } from './Attached';
import { useConversationActions } from './conversationActions';
import { ForkButton } from './ForkButton';
import { VersionSwitch } from './VersionSwitch';

type Props = { message: ChatMessage; seen: ReadonlySet<string>; answered: boolean; far?: boolean };

export const UserMessage = memo(function UserMessage({ message, seen, answered, far }: Props) {
  const t = useT();
  const { busy, edit } = useConversationActions();
  const [editing, setEditing] = useState(false);
  const text = textOf(message);
  const files = message.parts.filter((part) => part.type === 'file');
  if (editing) {
    return (
      <EditForm
        text={text}
        onCancel={() => setEditing(false)}
        onSend={(words) => {
          setEditing(false);
          edit(message, words);
        }}
      />
    );
  }
  return (
    <div data-message={message.id} className={classes('group/mine flex flex-col items-end gap-1.5', far && 'far')}>
      <span className="sr-only">{t('chat.youSaid')}</span>
      {files.length > 0 && <Attached files={files} seen={seen} answered={answered} />}
      <div className="flex max-w-full items-center gap-1 pl-8">
        <span className="on-hover flex shrink-0 group-hover/mine:opacity-100">
          {!busy && <IconButton icon="pencil" size="small" label={t('chat.edit')} onClick={() => setEditing(true)} />}
          {!busy && <ForkButton message={message.id} />}
          <CopyButton text={text} />
        </span>
        {text && <Bubble text={text} />}
      </div>
      <VersionSwitch versions={message.versions} of="message" />
    </div>
  );
}, same);

export function Bubble({ text, faded }: { text: string; faded?: boolean }) {
  return (
    <div
      className={classes(
        'rounded-2xl rounded-br-md bg-mine px-4 py-2.5 whitespace-pre-wrap [overflow-wrap:anywhere]',
        faded && 'opacity-60',
      )}
    >
      {text}
    </div>
  );
}

function EditForm({ text, onCancel, onSend }: { text: string; onCancel: () => void; onSend: (text: string) => void }) {
  const t = useT();
  const [words, setWords] = useState(text);
  return (
    <form
      className="ml-auto flex w-full max-w-[85%] flex-col gap-2"
      onSubmit={(event) => {
        event.preventDefault();
        if (words.trim()) onSend(words.trim());
      }}
    >
      <textarea
        autoFocus
        aria-label={t('chat.edit')}
        className={classes(FIELD, 'field-sizing-content max-h-80 resize-none')}
        value={words}
        onChange={(event) => setWords(event.target.value)}
        onKeyDown={(event) => {
          if (event.key === 'Escape') onCancel();
          if (event.key === 'Enter' && (event.metaKey || event.ctrlKey)) event.currentTarget.form?.requestSubmit();
        }}
      />
      <p className="text-[13px] text-quiet">{t('chat.editAbout')}</p>
      <span className="flex justify-end gap-2">
        <Button small onClick={onCancel}>
          {t('common.cancel')}
        </Button>
        <Button small look="strong" type="submit" disabled={!words.trim()}>
          {t('chat.send')}
        </Button>
      </span>
    </form>
  );
}

function same(before: Props, now: Props): boolean {
  const files = now.message.parts.some((part) => part.type === 'file');
  return (
    before.message === now.message &&
    before.far === now.far &&
    (!files || (before.answered === now.answered && before.seen.size === now.seen.size))
  );
}
