import { type ReactNode, useDeferredValue, useEffect, useMemo, useRef, useState } from 'react';
import { Link } from 'wouter';
import { api } from '../api/chat';
import { Bar } from '../app/Page';
import { IconButton } from '../components/Button';
import { Icon } from '../components/icons';
import { Menu } from '../components/Menu';
import { Notice } from '../components/Pieces';
import { useT } from '../i18n';
import { filesSeen, keyOf, textOf } from '../messages/history';
import type { ChatMessage, SessionDetail } from '../api/types';
import { RenameForm } from '../sessions/RenameForm';
import { useSessionActions } from '../sessions/useSessionActions';
import { TodoLine } from '../cards/bodies/Todos';
import { Answer } from './Answer';
import { Composer, type ComposerHandle } from './Composer';
import { Dropzone } from './Dropzone';
import { NextMessage } from './NextMessage';
import { Queue } from './Queue';
import { ConversationContext, type ConversationActions } from './conversationActions';
import { Thinking } from './Thinking';
import { Thread, type ThreadHandle } from './Thread';
import { type Conversation, useConversation } from './useConversation';
import { UserMessage } from './UserMessage';
import { useJump } from './useJump';

const AT_ONCE = 4; // so many of the newest messages are drawn first
const NEAR = 8; // so many of the newest messages are always laid out; what is far waits until it is looked at

export function ConversationView({ detail }: { detail: SessionDetail }) {
  const t = useT();
  const conversation = useConversation(detail);
  useRead(conversation.session);
  useJump(conversation.messages, conversation.hasOlder, conversation.loadOlder);
  const composer = useRef<ComposerHandle>(null);
  const thread = useRef<ThreadHandle>(null);
  const { pending, live } = conversation;
  const messages = useInStages(conversation.messages);
  const seen = useSeen(messages);
  const last = messages.at(-1);
  const answering = live && last?.role === 'assistant' ? last : null;
  const replies = useMemo(() => repliesAfter(messages), [messages]);
  const unanswered = messages.findLastIndex((message) => message.role === 'user');
  const endSaid = useEndSaid(answering, last);
  const actions = useActions(detail.id, conversation, () => thread.current?.toEnd());
  return (
    <ConversationContext value={actions}>
      <Dropzone onFiles={(files) => composer.current?.attach(files)}>
        <ConversationBar session={conversation.session} />
        <Thread
          ref={thread}
          count={messages.length}
          firstKey={messages[0] ? keyOf(messages[0]) : ''}
          hasOlder={conversation.hasOlder}
          onOlder={conversation.loadOlder}
        >
          {withNext(
            messages.map((message, place) =>
              message.role === 'user' ? (
                <UserMessage
                  key={keyOf(message)}
                  message={message}
                  far={place < messages.length - NEAR}
                  seen={seen}
                  answered={place < messages.length - (live ? 2 : 1)}
                />
              ) : (
                <Answer
                  key={message.id}
                  message={message}
                  far={place < messages.length - NEAR}
                  live={message === answering}
                  last={message === last}
                  open={place > unanswered && !pending.next}
                  seen={seen}
                  cameBack={messages[place - 1]?.role === 'assistant'}
                  reply={replies[place] ?? pending.next?.text}
                />
              ),
            ),
            answering !== null,
            pending.next && (
              <NextMessage
                key={`user:${pending.next.key}`}
                pending={pending.next}
                onResend={(id) => void conversation.resend(id)}
                onDiscard={conversation.discard}
                onEdit={(text) => composer.current?.fill(text)}
              />
            ),
          )}
          {live && <Thinking waiting={conversation.submitted} note={conversation.note} />}
          {conversation.problem && (
            <Notice
              tone="wrong"
              icon="warning"
              action={
                <IconButton icon="close" size="small" label={t('common.close')} onClick={conversation.dismissProblem} />
              }
            >
              {conversation.problem}
            </Notice>
          )}
        </Thread>
        <p role="status" className="sr-only">
          {endSaid}
        </p>
        <TodoLine messages={messages} />
        <Queue pending={pending.queued} conversation={conversation} onEdit={(text) => composer.current?.fill(text)} />
        <Composer
          ref={composer}
          draftName={detail.id}
          busy={conversation.busy}
          model={conversation.model}
          onModel={(name) => void conversation.pickModel(name)}
          onSend={(text, files, mode) => {
            thread.current?.toEnd();
            void conversation.send(text, files, mode);
          }}
          onStop={conversation.stop}
        />
      </Dropzone>
    </ConversationContext>
  );
}

/** Tells the server that its end was seen, once it is, for all devices. */
function useRead({ id, unread }: SessionDetail): void {
  useEffect(() => {
    if (!unread) return;
    const seen = () => document.visibilityState === 'visible' && void api.read(id).catch(() => undefined);
    seen();
    document.addEventListener('visibilitychange', seen);
    return () => document.removeEventListener('visibilitychange', seen);
  }, [id, unread]);
}

/** What the person said next after each message. */
function repliesAfter(messages: readonly ChatMessage[]): (string | undefined)[] {
  const replies: (string | undefined)[] = messages.map(() => undefined);
  let reply: string | undefined;
  for (let place = messages.length - 1; place >= 0; place -= 1) {
    replies[place] = reply;
    if (messages[place]!.role === 'user') reply = textOf(messages[place]!);
  }
  return replies;
}

/** The same set while it has the same images, so that messages are not rendered again. */
function useSeen(messages: ChatMessage[]): ReadonlySet<string> {
  const found = filesSeen(messages);
  const kept = useRef(found);
  const same = kept.current.size === found.size && [...found].every((id) => kept.current.has(id));
  if (!same) kept.current = found;
  return kept.current;
}

/** Announces to screen readers that the answer is complete; a failed answer shows its own message. */
function useEndSaid(answering: ChatMessage | null, last: ChatMessage | undefined): string {
  const t = useT();
  const [awaited, setAwaited] = useState('');
  const answer = answering?.id;
  useEffect(() => {
    if (answer) setAwaited(answer);
  }, [answer]);
  const ready = !answering && awaited !== '' && last?.id === awaited && last.metadata?.status === 'completed';
  return ready ? t('chat.answerReady') : '';
}

/** Renders the newest messages at once and the older ones later, so that a long page does not block typing. */
function useInStages(messages: ChatMessage[]): ChatMessage[] {
  const from = useDeferredValue(messages[0]?.id, '');
  const place = messages.findIndex((message) => message.id === from);
  return place < 0 ? messages.slice(-AT_ONCE) : messages.slice(place);
}

/** Keeps the same object while only text changes, so that a streaming answer re-renders nothing else. */
function useActions(session: string, conversation: Conversation, toEnd: () => void): ConversationActions {
  const latest = useRef(conversation);
  latest.current = conversation;
  const show = useRef(toEnd);
  show.current = toEnd;
  return useMemo(
    () => ({
      session,
      busy: conversation.busy,
      say: (text) => {
        show.current();
        void latest.current.send(text, [], 'queue');
      },
      stopCall: (turn, call) => void latest.current.stopCall(turn, call),
      regenerate: (message, model) => void latest.current.regenerate(message, model),
      edit: (message, text) => void latest.current.edit(message, text),
      show: (turn) => void latest.current.show(turn),
    }),
    [session, conversation.busy],
  );
}

/** Puts the sent message before its answer. One list, so that an answer that ends is not re-rendered. */
function withNext(rows: ReactNode[], answering: boolean, next: ReactNode): ReactNode[] {
  return answering ? [...rows.slice(0, -1), next, rows.at(-1)] : [...rows, next];
}

function ConversationBar({ session }: { session: SessionDetail }) {
  const t = useT();
  const [renaming, setRenaming] = useState(false);
  const { entries, dialog } = useSessionActions(session, () => setRenaming(true));
  const title = session.title || t('sessions.untitled');
  const shown = renaming ? (
    <div className="max-w-md">
      <RenameForm session={session} onDone={() => setRenaming(false)} />
    </div>
  ) : (
    <div className="flex min-w-0 items-center gap-2">
      {session.forked_from && (
        <Link
          href={`/c/${session.forked_from}`}
          className="inline-flex shrink-0 items-center gap-1 text-sm text-quiet hover:text-ink"
        >
          <Icon name="branch" size={15} /> <span className="max-md:sr-only">{t('chat.forkedFrom')}</span>
        </Link>
      )}
      {session.parent && (
        <Link
          href={`/c/${session.parent}`}
          className="inline-flex shrink-0 items-center gap-1 text-sm text-quiet hover:text-ink"
        >
          <Icon name="branch" size={15} /> {t('chat.parent')}
        </Link>
      )}
      <h1 className="truncate text-[15px] font-medium">{title}</h1>
    </div>
  );
  return (
    <Bar name={title} title={shown}>
      <Menu trigger={<IconButton icon="more" label={t('sessions.actions', { title })} />} entries={entries} />
      {dialog}
    </Bar>
  );
}
