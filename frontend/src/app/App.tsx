import { lazy, Suspense } from 'react';
import { Redirect, Route, Switch, useLocation } from 'wouter';
import { Conversation } from '../chat/conversationRoute';
import { Welcome } from '../chat/Welcome';
import { useT } from '../i18n';
import { Boundary } from '../components/Boundary';
import { Failed } from '../components/Pieces';
import { Missing } from './Missing';
import { LoadingPage, Page } from './Page';
import { Shell } from './Shell';

const Builder = lazy(() => import('../builder/Builder'));
const Library = lazy(() => import('../library/Library'));
const Account = lazy(() => import('../account/Account'));
const Styleguide = lazy(() => import('../styleguide/Styleguide'));

/** The routes; each page is loaded when it is first needed. */
export function App() {
  const t = useT();
  const [path] = useLocation();
  const broken = () => (
    <Page title={t('app.broken')}>
      <Failed words={t('app.brokenAbout')} onRetry={() => location.reload()} />
    </Page>
  );
  return (
    <Shell skip={t('app.skip')}>
      <Boundary key={path.split('/')[1]} fallback={broken}>
        <Suspense fallback={<LoadingPage />}>
          <Switch>
            <Route path="/">
              <Welcome />
            </Route>
            <Route path="/c/:id">{({ id }) => <Conversation.Page key={id} id={id} />}</Route>
            <Route path="/library/agents/:id/edit">{({ id }) => <Builder id={id} />}</Route>
            <Route path="/library/*?">
              <Library />
            </Route>
            <Route path="/store/:username/:slug">
              {({ username, slug }) => <Redirect to={`/library/store/${username}/${slug}`} />}
            </Route>
            <Route path="/account/credentials">
              <Redirect to="/library/credentials" />
            </Route>
            <Route path="/account/:tab?">
              <Account />
            </Route>
            <Route path="/styleguide">
              <Styleguide />
            </Route>
            <Route>
              <Missing />
            </Route>
          </Switch>
        </Suspense>
      </Boundary>
    </Shell>
  );
}
