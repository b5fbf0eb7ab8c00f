import { type ClipboardEvent, type KeyboardEvent, type Ref, useImperativeHandle, useRef, useState } from 'react';
import { toast } from '../app/toasts';
import { Button, IconButton } from '../components/Button';
import { Menu } from '../components/Menu';
import { useT } from '../i18n';
import { OFFLINE, useConfig } from '../api/queries';
import { recall, remember } from '../browser/storage';
import type { SentMode, WorkspaceFile } from '../api/types';
import { ModelPicker } from './ModelPicker';
import { isBlind, useChoice } from './models';
import { UploadChips } from './UploadChips';
import { useUploads } from './useUploads';

export type ComposerHandle = { attach: (files: File[]) => void; fill: (text: string) => void };

type Props = {
  ref?: Ref<ComposerHandle>;
  draftName: string;
  busy: boolean;
  model: string; // picked for what is sent from here; empty is the default
  onModel: (name: string) => void;
  onSend: (text: string, files: WorkspaceFile[], mode: SentMode) => void;
  onStop: () => Promise<void>;
};

/** The message input. The draft is kept until it is sent, also over a reload. */
export function Composer({ ref, draftName, busy, model, onModel, onSend, onStop }: Props) {
  const t = useT();
  const config = useConfig().data;
  const models = useChoice();
  const draft = `draft.${draftName}`;
  const [text, setText] = useState(() => recall(draft) ?? '');
  const [stopping, setStopping] = useState(false);
  const area = useRef<HTMLTextAreaElement>(null);
  const picker = useRef<HTMLInputElement>(null);
  const files = useUploads();
  const write = (words: string) => {
    setText(words);
    remember(draft, words || null);
  };
  useImperativeHandle(ref, () => ({
    attach: files.add,
    fill: (words) => {
      write(words);
      area.current?.focus();
    },
  }));

  const most = config?.limits.message_characters ?? 64_000;
  const tooLong = text.length > most;
  const ready = !files.busy && !tooLong && (text.trim() !== '' || files.uploads.some((entry) => entry.done));
  const attachText = (words: string) => {
    files.add([new File([words], t('chat.pastedName'), { type: 'text/plain' })]);
  };
  const send = (mode: SentMode = 'queue') => {
    if (!ready) return;
    onSend(text.trim(), files.take(), mode);
    write('');
    area.current?.focus();
  };
  const stop = async () => {
    setStopping(true);
    await onStop();
    setStopping(false);
  };
  const typed = (event: KeyboardEvent) => {
    if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    send();
  };
  const pasted = (event: ClipboardEvent) => {
    if (event.clipboardData.files.length > 0) {
      event.preventDefault();
      files.add([...event.clipboardData.files]);
      return;
    }
    const words = event.clipboardData.getData('text/plain');
    if (text.length + words.length <= most) return;
    event.preventDefault();
    attachText(words);
    toast(t('chat.pastedAsFile', { count: words.length, most }));
  };

  return (
    <form
      className="mx-auto w-full max-w-3xl px-4 pb-4 md:px-6"
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
    >
      <div className="rounded-2xl border border-line-strong bg-card shadow-sm transition-colors focus-within:border-accent focus-within:ring-3 focus-within:ring-accent-soft">
        <UploadChips
          uploads={files.uploads}
          onRemove={files.remove}
          blind={models ? isBlind(models, model) : config?.sees_images === false}
        />
        {tooLong && (
          <div role="alert" className="flex flex-wrap items-center gap-2 px-4 pt-3 text-[13px] text-wrong">
            <span className="min-w-0 flex-1">{t('chat.tooLong', { count: text.length, most })}</span>
            <Button
              small
              icon="clip"
              onClick={() => {
                attachText(text);
                write('');
                area.current?.focus();
              }}
            >
              {t('chat.attachText')}
            </Button>
          </div>
        )}
        <textarea
          ref={area}
          autoFocus
          aria-label={t('chat.message')}
          className="bare-focus block field-sizing-content max-h-72 min-h-12 w-full resize-none bg-transparent px-4 pt-3 pb-1 placeholder:text-quiet"
          placeholder={t(busy ? 'chat.placeholderBusy' : 'chat.placeholder')}
          value={text}
          onChange={(event) => write(event.target.value)}
          onKeyDown={typed}
          onPaste={pasted}
        />
        <div className="flex items-center gap-1 px-2 pb-2">
          <input
            ref={picker}
            type="file"
            multiple
            hidden
            onChange={(event) => {
              files.add([...(event.target.files ?? [])]);
              event.target.value = '';
            }}
          />
          <IconButton icon="clip" label={t('chat.attach')} onClick={() => picker.current?.click()} />
          <span className="flex min-w-0 flex-1">
            {models ? (
              <ModelPicker models={models} picked={model} onPick={onModel} />
            ) : (
              <span className="truncate px-2 text-xs text-quiet">
                {config?.model === OFFLINE ? t('chat.offlineModel') : config?.model}
              </span>
            )}
          </span>
          {busy && (
            <IconButton
              icon="stop"
              look="plain"
              label={t('chat.stop')}
              disabled={stopping}
              onClick={() => void stop()}
              round
            />
          )}
          {busy && ready && (
            <Menu
              side="top"
              trigger={<IconButton icon="down" label={t('queue.how')} size="small" />}
              entries={[
                { label: t('queue.asQueue'), icon: 'clock', onSelect: () => send('queue') },
                { label: t('queue.asSteer'), icon: 'steer', onSelect: () => send('steer') },
                { label: t('queue.asInterrupt'), icon: 'bolt', onSelect: () => send('interrupt') },
              ]}
            />
          )}
          <IconButton icon="send" look="strong" type="submit" label={t('chat.send')} disabled={!ready} round />
        </div>
      </div>
    </form>
  );
}
