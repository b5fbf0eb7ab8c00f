import { useState } from 'react';

type Props = { busy: boolean; onSend: (text: string) => unknown; onStop: () => unknown };

export function Composer({ busy, onSend, onStop }: Props) {
  const [text, setText] = useState('');
  const [failure, setFailure] = useState('');
  const send = async () => {
    const words = text.trim();
    if (!words) return;
    setText('');
    setFailure('');
    try {
      await onSend(words);
    } catch (error) {
      setText(words); // nothing a person wrote is lost
      setFailure((error as Error).message);
    }
  };
  return (
    <form
      className="mx-auto w-full max-w-3xl p-3 md:p-4"
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
    >
      {failure && <p role="alert" className="pb-2 text-sm text-wrong">{failure}</p>}
      <div className="flex items-end gap-2 rounded-2xl border border-line bg-card p-2 shadow-sm focus-within:border-accent">
        <textarea
          autoFocus
          aria-label="Message"
          className="max-h-60 min-h-10 flex-1 resize-none bg-transparent px-2 py-2 outline-none field-sizing-content"
          placeholder={busy ? 'Send another message; it waits its turn' : 'Message Ratchet'}
          maxLength={64000}
          value={text}
          onChange={(event) => setText(event.target.value)}
          onKeyDown={(event) => {
            if (event.key === 'Enter' && !event.shiftKey && !event.nativeEvent.isComposing) {
              event.preventDefault();
              void send();
            }
          }}
        />
        {busy && (
          <button type="button" className="button" onClick={() => void onStop()}>
            Stop
          </button>
        )}
        <button className="button-strong" disabled={!text.trim()}>
          Send
        </button>
      </div>
    </form>
  );
}
