import { Button } from '../components/Button';
import { useT } from '../i18n';
import type { Entry } from '../messages/pendingEntries';
import { errorText } from '../api/errorText';
import { Attached } from './Attached';
import { Bubble } from './UserMessage';

type Props = {
  pending: Entry;
  onResend: (id: string) => void;
  onDiscard: (id: string) => void;
  onEdit: (text: string) => void;
};

const NOBODY = new Set<string>();

/** A sent message that is not in the conversation yet: on its way, waiting for the connection, or refused. */
export function NextMessage({ pending, onResend, onDiscard, onEdit }: Props) {
  const t = useT();
  const { clientId, state } = pending;
  const files = pending.files.map((file) => ({
    type: 'file' as const,
    mediaType: file.media_type,
    filename: file.name,
    url: file.content_url,
  }));
  return (
    <div className="ml-auto flex max-w-[85%] flex-col items-end gap-1.5">
      {files.length > 0 && <Attached files={files} seen={NOBODY} answered={false} />}
      {files.length === 0 && pending.fileCount > 0 && (
        <p className="text-sm text-quiet">{t('chat.fileCount', { count: pending.fileCount })}</p>
      )}
      {pending.text && <Bubble text={pending.text} faded={state === 'unsent'} />}
      {state === 'unsent' && (
        <p role="status" className="text-[13px] text-quiet">
          {t('chat.waitingForConnection')}
        </p>
      )}
      {state === 'refused' && clientId && (
        <div role="alert" className="flex flex-wrap items-center justify-end gap-2 text-[13px] text-wrong">
          <span>{errorText(pending.problem, t)}</span>
          <Button small onClick={() => onResend(clientId)} icon="refresh">
            {t('common.tryAgain')}
          </Button>
          <Button
            small
            onClick={() => {
              onEdit(pending.text);
              onDiscard(clientId);
            }}
          >
            {t('chat.takeBack')}
          </Button>
        </div>
      )}
    </div>
  );
}
