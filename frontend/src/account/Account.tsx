import { Page } from '../app/Page';
import { Tabs } from '../components/Tabs';
import { useT } from '../i18n';
import { Keys } from './Keys';
import { Personal } from './Personal';
import { Settings } from './Settings';
import { Usage } from './Usage';

export default function Account() {
  const t = useT();
  const tabs = [
    { id: 'usage', label: t('account.usage'), content: <Usage /> },
    { id: 'settings', label: t('account.settings'), content: <Settings /> },
    { id: 'personal', label: t('personal.title'), content: <Personal /> },
    { id: 'keys', label: t('account.keys'), content: <Keys /> },
  ];
  return (
    <Page title={t('account.title')}>
      <Tabs tabs={tabs} base="/account" label={t('account.title')} />
    </Page>
  );
}
