import { Link } from 'wouter';
import { Empty } from '../components/Pieces';
import { useT } from '../i18n';
import { Page } from './Page';

export function Missing() {
  const t = useT();
  return (
    <Page title={t('app.missing')}>
      <NothingHere />
    </Page>
  );
}

/** The same inside a page with its own heading. */
export function NothingHere() {
  const t = useT();
  return (
    <Empty icon="question" title={t('app.missing')}>
      <Link href="/" className="link">
        {t('app.backToStart')}
      </Link>
    </Empty>
  );
}
