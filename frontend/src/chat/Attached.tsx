import type { FileUIPart } from 'ai';
import { createContext, use, useState } from 'react';
import { Dialog } from '../components/Dialog';
import { Icon } from '../components/icons';
import { useT } from '../i18n';

const ID = /\/api\/files\/([0-9a-f-]{36})\/content/;
const SHOWN = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp']);

/** Ids of the images that the model was shown; null where nothing is marked, such as in an answer that still streams. */
export const SeenContext = createContext<ReadonlySet<string> | null>(null);

type Props = { files: FileUIPart[]; seen: ReadonlySet<string>; answered: boolean };

/** The attachments of a message; an image that the model was not shown is marked. */
export function Attached({ files, seen, answered }: Props) {
  return (
    <ul className="flex flex-wrap justify-end gap-2">
      {files.map((file) => {
        const id = file.url.match(ID)?.[1] ?? '';
        const unseen = answered && !seen.has(id);
        return (
          <li key={file.url}>
            {SHOWN.has(file.mediaType) ? (
              <Picture url={file.url} name={file.filename ?? ''} unseen={unseen} />
            ) : (
              <FileLink url={file.url} name={file.filename ?? ''} />
            )}
          </li>
        );
      })}
    </ul>
  );
}

/** An image of the workspace; `unseen`, or the context, says whether to mark it as not shown to the model. */
export function Picture({ url, name, unseen }: { url: string; name: string; unseen?: boolean }) {
  const t = useT();
  const seen = use(SeenContext);
  const id = url.match(ID)?.[1] ?? '';
  const marked = unseen ?? (seen !== null && id !== '' && !seen.has(id));
  const [open, setOpen] = useState(false);
  const alt = name || t('chat.picture');
  return (
    <figure className="flex flex-col gap-1">
      <button
        type="button"
        className="cursor-zoom-in overflow-hidden rounded-xl border border-line"
        onClick={() => setOpen(true)}
        aria-label={t('chat.enlarge', { name: alt })}
      >
        <img src={url} alt={alt} loading="lazy" className="max-h-64 max-w-full object-contain" />
      </button>
      {marked && (
        <figcaption className="flex items-center gap-1.5 text-xs text-quiet">
          <Icon name="eyeOff" size={14} /> {t('chat.notSeen')}
        </figcaption>
      )}
      <Dialog open={open} onClose={() => setOpen(false)} title={alt} wide>
        <img src={url} alt={alt} className="mx-auto max-h-[65dvh] object-contain" />
      </Dialog>
    </figure>
  );
}

export function FileLink({ url, name, about }: { url: string; name: string; about?: string }) {
  const t = useT();
  return (
    <a
      href={url}
      target="_blank"
      rel="noreferrer"
      className="flex max-w-64 items-center gap-2.5 rounded-xl border border-line bg-card px-3 py-2 text-sm hover:bg-hover"
    >
      <Icon name="file" className="text-quiet" />
      <span className="min-w-0">
        <span className="block truncate">{name || t('chat.file')}</span>
        {about && <span className="block truncate text-xs text-quiet">{about}</span>}
      </span>
    </a>
  );
}
