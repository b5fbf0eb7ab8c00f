import type { FileUIPart, SourceUrlUIPart } from 'ai';
import type { Part } from '../api/types';
import { useT } from '../i18n';
import { FileLink } from './Attached';

const PAGE = /^https?:\/\//i;

/** What an answer rests on and leaves behind: the files it made, and the pages it read as numbered footnotes. */
export function Footnotes({ parts }: { parts: readonly Part[] }) {
  const t = useT();
  const files = parts.filter((part): part is FileUIPart => part.type === 'file');
  const sources = parts.filter((part): part is SourceUrlUIPart => part.type === 'source-url' && PAGE.test(part.url));
  return (
    <>
      {files.length > 0 && (
        <ul aria-label={t('chat.filesMade')} className="flex flex-wrap gap-2">
          {files.map((file) => (
            <li key={file.url}>
              <FileLink url={file.url} name={nameOf(file)} />
            </li>
          ))}
        </ul>
      )}
      {sources.length > 0 && (
        <aside aria-label={t('chat.sources')} className="border-t border-line pt-2 text-[13px] text-quiet">
          <p className="mb-1 font-medium">{t('chat.sources')}</p>
          <ol className="flex flex-col gap-0.5">
            {sources.map((source, place) => (
              <li key={source.sourceId} className="flex min-w-0 items-baseline gap-1.5">
                <span className="w-5 shrink-0 text-right tabular-nums">{place + 1}.</span>
                <a href={source.url} target="_blank" rel="noreferrer noopener" className="link truncate">
                  {source.title || source.url}
                </a>
                <span className="shrink-0 text-xs">{hostOf(source.url)}</span>
              </li>
            ))}
          </ol>
        </aside>
      )}
    </>
  );
}

/** The name of a file that a tool made is the fragment of its address. */
export function nameOf(file: FileUIPart): string {
  if (file.filename) return file.filename;
  const fragment = file.url.split('#')[1] ?? '';
  try {
    return decodeURIComponent(fragment);
  } catch {
    return fragment;
  }
}

export function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host.replace(/^www\./, '') : '';
}
