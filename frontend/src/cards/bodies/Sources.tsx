import { Icon } from '../../components/icons';
import { field, list, text } from '../../api/looseValues';
import type { BodyProps } from './index';

/** The pages that a web search found. */
export function SearchResults({ result }: BodyProps) {
  return (
    <ol className="flex flex-col gap-3">
      {list(result.results).map((source, place) => {
        const url = text(field(source, 'url'));
        const title = text(field(source, 'title')) || url;
        return (
          <li key={place} className="flex items-start gap-2.5">
            <Icon name="globe" size={16} className="mt-0.5 shrink-0 text-quiet" />
            <div className="min-w-0">
              {/^https?:\/\//.test(url) ? (
                <a href={url} target="_blank" rel="noreferrer noopener" className="link font-medium break-words">
                  {title}
                </a>
              ) : (
                <span className="font-medium break-words">{title}</span>
              )}
              <p className="truncate text-xs text-quiet">{url}</p>
              <p className="line-clamp-2 text-[13px] text-quiet">{text(field(source, 'snippet'))}</p>
            </div>
          </li>
        );
      })}
    </ol>
  );
}
