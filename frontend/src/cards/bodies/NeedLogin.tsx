import { useT } from '../../i18n';

export function NeedLogin() {
  const t = useT();
  return (
    <a href={`/login/?next=${encodeURIComponent(location.pathname)}`} className="link">
      {t('card.login')}
    </a>
  );
}
