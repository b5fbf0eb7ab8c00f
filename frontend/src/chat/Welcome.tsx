import { useEffect, useRef, useState } from 'react';
import { useLocation } from 'wouter';
import { Bar } from '../app/Page';
import { Icon, Mark } from '../components/icons';
import { Failed } from '../components/Pieces';
import { useT } from '../i18n';
import { api } from '../api/chat';
import { hints } from '../live/hints';
import { queryClient } from '../api/queries';
import type { SessionDetail, WorkspaceFile } from '../api/types';
import { errorText } from '../api/errorText';
import { Composer, type ComposerHandle } from './Composer';
import { Conversation } from './conversationRoute';
import { Dropzone } from './Dropzone';
import { outboxOf } from '../messages/outboxes';
import { PROMPTS } from './prompts';

/** The start of a conversation. The session is created with the first message. */
export function Welcome() {
  const t = useT();
  const [, go] = useLocation();
  const [problem, setProblem] = useState('');
  const [model, setModel] = useState('');
  const composer = useRef<ComposerHandle>(null);
  useEffect(() => void Conversation.load(), []); // it is needed next

  const begin = async (text: string, files: WorkspaceFile[] = []) => {
    setProblem('');
    try {
      const session = await api.create(model ? { model } : {});
      const empty: SessionDetail = { ...session, messages: [], before: null, active_turn: null, queued_turns: [] };
      queryClient.setQueryData(['session', session.id], empty);
      void outboxOf(session.id).send(text, files, 'queue');
      hints.wake(); // a visitor is known from now on
      go(`/c/${session.id}`);
    } catch (error) {
      composer.current?.fill(text);
      setProblem(errorText(error, t));
    }
  };

  return (
    <Dropzone onFiles={(files) => composer.current?.attach(files)}>
      <Bar name="" title={null} />
      <div className="min-h-0 flex-1 overflow-y-auto">
        <div className="mx-auto flex min-h-full w-full max-w-3xl flex-col justify-center gap-8 px-4 py-8 md:px-6">
          <div className="flex flex-col items-center gap-4 text-center">
            <Mark size={48} />
            <h1 className="text-3xl font-semibold tracking-tight text-balance">{t('welcome.title')}</h1>
            <p className="max-w-md text-quiet">{t('welcome.about')}</p>
          </div>
          {problem && <Failed words={problem} />}
          <ul className="grid gap-3 sm:grid-cols-2">
            {PROMPTS.map((prompt) => (
              <li key={prompt.text}>
                <button
                  type="button"
                  className="panel flex h-full w-full cursor-pointer items-start gap-3 p-4 text-left transition-colors hover:border-accent hover:bg-accent-soft/40"
                  onClick={() => void begin(prompt.text)}
                >
                  <span className="rounded-lg bg-accent-soft p-1.5 text-accent-text">
                    <Icon name={prompt.icon} />
                  </span>
                  <span>
                    <span className="block text-sm font-medium">{t(prompt.title)}</span>
                    <span className="block text-[13px] text-quiet">{prompt.text}</span>
                  </span>
                </button>
              </li>
            ))}
          </ul>
        </div>
      </div>
      <Composer
        ref={composer}
        draftName="new"
        busy={false}
        model={model}
        onModel={setModel}
        onSend={(text, files) => void begin(text, files)}
        onStop={async () => undefined}
      />
    </Dropzone>
  );
}
