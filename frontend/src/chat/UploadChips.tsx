import { IconButton } from '../components/Button';
import { classes } from '../components/classes';
import { Icon } from '../components/icons';
import { Progress } from '../components/Progress';
import { useT } from '../i18n';
import type { Upload } from './useUploads';

export function UploadChips({
  uploads,
  onRemove,
  blind,
}: {
  uploads: Upload[];
  onRemove: (key: string) => void;
  blind: boolean;
}) {
  const t = useT();
  if (uploads.length === 0) return null;
  return (
    <div className="flex flex-col gap-1.5 px-2 pt-2">
      <ul className="flex flex-wrap gap-2" aria-label={t('chat.attachments')}>
        {uploads.map((entry) => (
          <li
            key={entry.key}
            className="flex max-w-64 items-center gap-2 rounded-xl border border-line bg-side py-1 pr-1 pl-2.5 text-sm"
          >
            {entry.done && entry.type.startsWith('image/') ? (
              <img src={entry.done.content_url} alt="" className="size-8 rounded object-cover" />
            ) : (
              <Icon name={entry.type.startsWith('image/') ? 'image' : 'file'} className="text-quiet" />
            )}
            <span className={classes('flex-1', entry.done || entry.problem ? 'min-w-0' : 'min-w-36')}>
              <span className="block truncate">{entry.name || t('chat.picture')}</span>
              {entry.problem && <span className="block text-xs text-wrong">{entry.problem}</span>}
              {!entry.done && !entry.problem && (
                <Progress share={entry.share} label={t('chat.uploading', { name: entry.name })} />
              )}
            </span>
            <IconButton
              icon="close"
              size="small"
              label={t('chat.removeFile', { name: entry.name })}
              onClick={() => onRemove(entry.key)}
            />
          </li>
        ))}
      </ul>
      {blind && uploads.some((entry) => entry.type.startsWith('image/')) && (
        <p className="flex items-center gap-1.5 text-xs text-quiet">
          <Icon name="eyeOff" size={14} /> {t('chat.blindModel')}
        </p>
      )}
    </div>
  );
}
