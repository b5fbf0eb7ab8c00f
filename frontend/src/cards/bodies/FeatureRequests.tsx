import { Badge } from '../../components/Pieces';
import { useT } from '../../i18n';
import { field, list, number, text } from '../../api/looseValues';
import type { BodyProps } from './index';

export function FeatureRequests({ result }: BodyProps<'feature_request_search'>) {
  const t = useT();
  return (
    <ul className="flex flex-col gap-2.5">
      {list(result.results).map((found, place) => (
        <li key={place}>
          <p className="flex flex-wrap items-center gap-2 font-medium">
            {text(field(found, 'title'))}
            <Badge>{t('card.supporters', { count: number(field(found, 'supporters')) ?? 0 })}</Badge>
          </p>
          <p className="text-[13px] text-quiet">{text(field(found, 'description'))}</p>
        </li>
      ))}
    </ul>
  );
}
