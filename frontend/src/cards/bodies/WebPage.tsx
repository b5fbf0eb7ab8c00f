import { Icon } from '../../components/icons';
import { Badge, Fold, Raw } from '../../components/Pieces';
import { useT } from '../../i18n';
import { number, text } from '../../api/looseValues';
import type { BodyProps } from './index';

export function WebPage({ result }: BodyProps<'web_fetch'>) {
  const t = useT();
  const url = text(result.url);
  const status = number(result.status_code) ?? 0;
  const safe = /^https?:\/\//.test(url);
  return (
    <div className="flex flex-col gap-2">
      <div className="flex flex-wrap items-center gap-2">
        <Icon name="globe" size={16} className="text-quiet" />
        {safe ? (
          <a href={url} target="_blank" rel="noreferrer noopener" className="link min-w-0 truncate">
            {text(result.title) || url}
          </a>
        ) : (
          <span>{url}</span>
        )}
        <Badge tone={status < 400 ? 'good' : 'wrong'}>{status}</Badge>
        {result.truncated === true && <Badge>{t('card.truncated')}</Badge>}
      </div>
      <Fold title={t('card.showText')}>
        <Raw value={text(result.content)} />
      </Fold>
    </div>
  );
}
