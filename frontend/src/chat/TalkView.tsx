import { type ReactNode, useRef, useState } from 'react';
import { Bar } from '../app/Page';
import { IconButton } from '../components/Button';
import { Menu } from '../components/Menu';
import { Notice } from '../components/Pieces';
import { useT } from '../i18n';
import { filesSeen, keyOf } from '../lib/history';
import type { SessionDetail } from '../lib/types';
import { RenameForm } from '../sessions/RenameForm';
import { useSessionActions } from '../sessions/useSessionActions';
import { Answer } from './Answer';
import { Composer, type ComposerHandle } from './Composer';
import { Dropzone } from './Dropzone';
import { NextMessage } from './NextMessage';
import { Queue } from './Queue';
import { TalkContext, type TalkActions } from './talk';
import { Thinking } from './Thinking';
import { Thread } from './Thread';
import { useTalk } from './useTalk';
import { UserMessage } from './UserMessage';

const NEAR = 8; // so many of the newest messages are always laid out; what is far waits until it is looked at

export function TalkView({ detail }: { detail: SessionDetail }) {
  const t = useT();
  const talk = useTalk(detail);
  const composer = useRef<ComposerHandle>(null);
  const { messages, pending, live } = talk;
  const seen = filesSeen(messages);
  const last = messages.at(-1);
  const answering = live && last?.role === 'assistant' ? last : null;
  const actions: TalkActions = {
    session: detail.id,
    busy: talk.busy,
    say: (text) => void talk.send(text, [], 'queue'),
    stopCall: (turn, call) => void talk.stopCall(turn, call),
    regenerate: (message) => void talk.regenerate(message),
    edit: (message, text) => void talk.edit(message, text),
  };
  return (
    <TalkContext value={actions}>
      <Dropzone onFiles={(files) => composer.current?.attach(files)}>
        <TalkBar session={talk.session} />
        <Thread live={live} count={messages.length} firstKey={messages[0] ? keyOf(messages[0]) : ''} hasOlder={talk.hasOlder} onOlder={talk.loadOlder}>
          {withNext(
            messages.map((message, place) =>
              message.role === 'user' ? (
                <UserMessage key={keyOf(message)} message={message} far={place < messages.length - NEAR} seen={seen} answered={place < messages.length - (live ? 2 : 1)} />
              ) : (
                <Answer key={message.id} message={message} far={place < messages.length - NEAR} live={message === answering} last={message === last} />
              ),
            ),
            answering !== null,
            pending.next && (
              <NextMessage key={`user:${pending.next.key}`} pending={pending.next} onResend={talk.resend} onDiscard={talk.discard} onEdit={(text) => composer.current?.fill(text)} />
            ),
          )}
          {live && <Thinking waiting={talk.submitted} note={talk.note} />}
          {talk.problem && (
            <Notice tone="wrong" icon="warning" action={<IconButton icon="close" size="small" label={t('common.close')} onClick={talk.dismissProblem} />}>
              {talk.problem}
            </Notice>
          )}
        </Thread>
        <Queue pending={pending.queued} talk={talk} onEdit={(text) => composer.current?.fill(text)} />
        <Composer
          ref={composer}
          draftName={detail.id}
          busy={talk.busy}
          onSend={(text, files, mode) => void talk.send(text, files, mode)}
          onStop={talk.stop}
        />
      </Dropzone>
    </TalkContext>
  );
}

/** What was just sent stands before its answer. One list, so that an answer that ends is not drawn anew. */
function withNext(rows: ReactNode[], answering: boolean, next: ReactNode): ReactNode[] {
  return answering ? [...rows.slice(0, -1), next, rows.at(-1)] : [...rows, next];
}

function TalkBar({ session }: { session: SessionDetail }) {
  const t = useT();
  const [renaming, setRenaming] = useState(false);
  const { entries, dialog } = useSessionActions(session, () => setRenaming(true));
  const title = session.title || t('sessions.untitled');
  const shown = renaming ? (
    <div className="max-w-md">
      <RenameForm session={session} onDone={() => setRenaming(false)} />
    </div>
  ) : (
    <h1 className="truncate text-[15px] font-medium">{title}</h1>
  );
  return (
    <Bar name={title} title={shown}>
      <Menu trigger={<IconButton icon="more" label={t('sessions.actions', { title })} />} entries={entries} />
      {dialog}
    </Bar>
  );
}
