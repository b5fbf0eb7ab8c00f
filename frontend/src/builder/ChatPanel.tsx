import { lazy, Suspense, useState } from 'react';
import { Button } from '../components/Button';
import { TextArea } from '../components/Field';
import { Loading } from '../components/Pieces';
import { api } from '../api/chat';
import { call } from '../api/http';
import { newId } from '../browser/ids';
import { useAttempt } from '../library/Screen';
import { draftApi } from './api';
import { useShared } from './context';
import { pageContext } from './pageContext';
import { useSync } from './sync';
import { useSay } from './words';

const Conversation = lazy(() => import('../chat/ConversationPage'));

/** The conversation beside the canvas: what the copilot changes there is proposed here. */
export function ChatPanel() {
  const say = useSay();
  const attempt = useAttempt();
  const { agent, sync } = useShared();
  const { draft } = useSync(sync);
  const [busy, setBusy] = useState(false);
  const [wish, setWish] = useState('');
  const begin = async () => {
    setBusy(true);
    await attempt(sync.flush());
    const session = await attempt(api.create());
    const changed = session && (await attempt(draftApi.openSession(agent, session.id)));
    const context = pageContext(location.href, { id: agent, name: draft.name });
    const turn = { message: wish, attachments: [], client_id: newId(), while_running: 'queue' as const, context };
    if (changed && (await attempt(call('POST', `/api/sessions/${session.id}/turns`, turn)))) sync.take(changed);
    setBusy(false);
  };
  if (!draft.session_id) {
    return (
      <form action={begin} className="flex flex-col gap-4 p-4">
        <div>
          <h2 className="text-[15px] font-semibold">{say('chat.title')}</h2>
          <p className="pt-0.5 text-[13px] text-quiet">{say('chat.about')}</p>
        </div>
        <TextArea label={say('chat.wish')} value={wish} onChange={(event) => setWish(event.target.value)} />
        <Button look="strong" icon="chat" type="submit" busy={busy} disabled={!wish.trim()} className="self-start">
          {say('chat.begin')}
        </Button>
      </form>
    );
  }
  return (
    <div className="flex h-full min-h-0 flex-col">
      <Suspense fallback={<Loading />}>
        <Conversation id={draft.session_id} />
      </Suspense>
    </div>
  );
}
