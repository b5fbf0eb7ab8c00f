import { Markdown } from '../../markdown/Markdown';
import { Fold } from '../../components/Pieces';
import { useT } from '../../i18n';
import { field, list, text } from '../../api/looseValues';
import type { BodyProps } from './index';

export function DocResults({ result }: BodyProps<'doc_search_results'>) {
  return (
    <ul className="flex flex-col gap-2.5">
      {list(result.results).map((found, place) => (
        <li key={place}>
          <p className="font-medium">
            {text(field(found, 'title'))}
            {text(field(found, 'section')) && <span className="text-quiet"> · {text(field(found, 'section'))}</span>}
          </p>
          <p className="text-[13px] text-quiet">{text(field(found, 'snippet'))}</p>
        </li>
      ))}
    </ul>
  );
}

export function DocPage({ result }: BodyProps<'doc_page'>) {
  const t = useT();
  return (
    <div className="flex flex-col gap-2">
      <p className="font-medium">{text(result.title)}</p>
      <Fold title={t('card.showText')}>
        <Markdown text={text(result.content)} live={false} />
      </Fold>
    </div>
  );
}
