import { useChat } from '@ai-sdk/react';
import { WebSocketChatTransport } from 'ai';
import { useCallback, useEffect, useMemo, useRef, useState } from 'react';
import { api, type ChatMessage, type SessionDetail, type Turn } from './api';
import { Composer } from './Composer';
import { MessageView } from './MessageView';

const PROMPTS = ['What can you do?', 'Count to 60', 'Show me a markdown table', 'What is 17 * 23?'];
const NEAR_THE_END = 120; // pixels: whoever reads further up is not pulled down

type Props = { session: string | null; beat: number; onCreated: (id: string) => void };

/** A session that exists is loaded first; a new one is made when the first message is sent. */
export function Conversation({ session, beat, onCreated }: Props) {
  const [detail, setDetail] = useState<SessionDetail | null>(null);
  const [failure, setFailure] = useState('');
  useEffect(() => {
    if (session) api.session(session).then(setDetail, (error: Error) => setFailure(error.message));
  }, [session]);
  if (!session) return <Welcome onCreated={onCreated} />;
  if (failure) return <p role="alert" className="m-8 text-wrong">{failure}</p>;
  if (!detail) return <div className="flex-1" aria-busy="true" />;
  return <Talk detail={detail} beat={beat} />;
}

function Welcome({ onCreated }: { onCreated: (id: string) => void }) {
  const [failure, setFailure] = useState('');
  const begin = async (text: string) => {
    try {
      const session = await api.create();
      await api.queue(session.id, text, 'queue');
      onCreated(session.id);
    } catch (error) {
      setFailure((error as Error).message);
    }
  };
  return (
    <div className="flex min-h-0 flex-1 flex-col">
      <div className="mx-auto flex w-full max-w-3xl flex-1 flex-col justify-center gap-6 p-6">
        <h1 className="text-3xl font-semibold">What shall we get done?</h1>
        <ul className="grid gap-2 sm:grid-cols-2">
          {PROMPTS.map((prompt) => (
            <li key={prompt}>
              <button className="card w-full text-left" onClick={() => void begin(prompt)}>
                {prompt}
              </button>
            </li>
          ))}
        </ul>
        {failure && <p role="alert" className="text-wrong">{failure}</p>}
      </div>
      <Composer busy={false} onSend={begin} onStop={() => undefined} />
    </div>
  );
}

function Talk({ detail, beat }: { detail: SessionDetail; beat: number }) {
  const id = detail.id;
  const [queued, setQueued] = useState<Turn[]>(detail.queued_turns);
  const [note, setNote] = useState('');
  const transport = useMemo(
    () => new WebSocketChatTransport<ChatMessage>({ url: `${location.origin.replace('http', 'ws')}/ws/chat/` }),
    [],
  );
  useEffect(() => () => transport.close(), [transport]);
  const chat = useChat<ChatMessage>({
    id,
    messages: detail.messages,
    transport,
    resume: detail.active_turn !== null,
    onData: (part) => {
      if (part.type === 'data-status') setNote((part.data as { message: string }).message);
    },
    onFinish: () => setNote(''),
  });
  const { status, setMessages, resumeStream } = chat;
  const live = status === 'streaming' || status === 'submitted';
  const busy = live || queued.length > 0;

  const streaming = useRef(live);
  streaming.current = live;
  const joining = useRef(detail.active_turn !== null);

  /** The database is right. While nothing streams here, take what it has; if a turn runs, join it once. */
  const settle = useCallback(async () => {
    const now = await api.session(id).catch(() => null);
    if (!now) return;
    setQueued(now.queued_turns);
    if (streaming.current || joining.current) return;
    setMessages(now.messages);
    if (!now.active_turn) return;
    joining.current = true;
    await resumeStream();
    joining.current = false;
  }, [id, setMessages, resumeStream]);
  useEffect(() => {
    if (beat) void settle();
  }, [beat]); // eslint-disable-line react-hooks/exhaustive-deps
  const before = useRef(live);
  useEffect(() => {
    if (before.current && !live) {
      joining.current = false;
      void settle();
    }
    before.current = live;
  }, [live, settle]);

  const send = async (text: string, mode = 'queue') => {
    if (!busy) return chat.sendMessage({ text });
    await api.queue(id, text, mode);
    return settle();
  };
  const stop = async () => {
    await api.cancel(id);
    await settle();
  };
  const last = chat.messages.at(-1);
  const failed = last?.role === 'assistant' && last.metadata?.status === 'failed';

  return (
    <>
      <Scroll watch={chat.messages}>
        {chat.messages.map((message) => (
          <MessageView key={message.id} message={message} live={live && message === last} />
        ))}
        {status === 'submitted' && <p className="text-quiet" role="status">Thinking…</p>}
        {note && live && <p className="text-sm text-quiet" role="status">{note}</p>}
        {chat.error && !live && <p role="alert" className="text-wrong">{chat.error.message}</p>}
        {(failed || (chat.error && !live)) && (
          <button className="button" onClick={() => void chat.regenerate()}>Retry</button>
        )}
      </Scroll>
      {queued.length > 0 && <Queue turns={queued} onChanged={settle} />}
      <Composer busy={live} onSend={send} onStop={stop} />
    </>
  );
}

function Scroll({ watch, children }: { watch: unknown; children: React.ReactNode }) {
  const box = useRef<HTMLDivElement>(null);
  const follow = useRef(true);
  useEffect(() => {
    if (follow.current) box.current?.scrollTo({ top: box.current.scrollHeight });
  }, [watch]);
  const scrolled = () => {
    const { scrollHeight, scrollTop, clientHeight } = box.current ?? { scrollHeight: 0, scrollTop: 0, clientHeight: 0 };
    follow.current = scrollHeight - scrollTop - clientHeight < NEAR_THE_END;
  };
  return (
    <div ref={box} onScroll={scrolled} className="min-h-0 flex-1 overflow-y-auto" tabIndex={0} aria-label="Messages">
      <div className="mx-auto flex w-full max-w-3xl flex-col gap-5 p-4 md:p-6">{children}</div>
    </div>
  );
}

function Queue({ turns, onChanged }: { turns: Turn[]; onChanged: () => Promise<void> }) {
  const act = (work: Promise<unknown>) => void work.then(onChanged, onChanged);
  return (
    <ul className="mx-auto flex w-full max-w-3xl flex-wrap gap-2 px-4 pb-1" aria-label="Queued messages">
      {turns.map((turn) => (
        <li key={turn.id} className="chip">
          <span className="max-w-64 truncate">{turn.message?.content || 'Queued'}</span>
          <button className="icon" title="Put before the model at its next step" onClick={() => act(api.editQueued(turn.id, { while_running: 'steer' }))}>
            Steer
          </button>
          <button className="icon" title="Stop the answer and run this" onClick={() => act(api.editQueued(turn.id, { while_running: 'interrupt' }))}>
            Now
          </button>
          <button className="icon" aria-label="Remove" onClick={() => act(api.removeQueued(turn.id))}>
            ✕
          </button>
        </li>
      ))}
    </ul>
  );
}
