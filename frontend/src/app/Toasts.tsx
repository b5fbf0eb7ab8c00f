import { classes } from '../components/classes';
import { IconButton } from '../components/Button';
import { useT } from '../i18n';
import { dismiss, useToasts } from './toasts';

export function Toasts() {
  const t = useT();
  const toasts = useToasts();
  return (
    <div
      className="pointer-events-none fixed inset-x-4 bottom-4 z-50 flex flex-col items-center gap-2"
      role="status"
      aria-live="polite"
    >
      {toasts.map((entry) => (
        <div
          key={entry.id}
          className={classes(
            'pop pointer-events-auto flex max-w-md items-center gap-3 rounded-xl px-4 py-2.5 text-sm shadow-lg',
            entry.tone === 'wrong' ? 'bg-wrong text-on-wrong' : 'bg-tip text-on-tip',
          )}
        >
          <span className="min-w-0 break-words">{entry.text}</span>
          <IconButton
            icon="close"
            size="small"
            className="text-inherit"
            label={t('common.close')}
            onClick={() => dismiss(entry.id)}
          />
        </div>
      ))}
    </div>
  );
}
