import { lazy, Suspense } from 'react';
import { Redirect, Route, Switch } from 'wouter';
import { Welcome } from '../chat/Welcome';
import { useT } from '../i18n';
import { Loading } from '../components/Pieces';
import { Missing } from './Missing';
import { Shell } from './Shell';

const Conversation = lazy(() => import('../chat/Conversation'));
const Library = lazy(() => import('../library/Library'));
const Account = lazy(() => import('../account/Account'));
const Styleguide = lazy(() => import('../styleguide/Styleguide'));

/** One page for every address; each part is fetched when it is first needed. */
export function App() {
  const t = useT();
  return (
    <Shell skip={t('app.skip')}>
      <Suspense fallback={<Loading />}>
        <Switch>
          <Route path="/">
            <Welcome />
          </Route>
          <Route path="/c/:id">{({ id }) => <Conversation key={id} id={id} />}</Route>
          <Route path="/library/*?">
            <Library />
          </Route>
          <Route path="/store/:username/:slug">{({ username, slug }) => <Redirect to={`/library/store?search=${username}/${slug}`} />}</Route>
          <Route path="/account/credentials">
            <Redirect to="/library/credentials" />
          </Route>
          <Route path="/account">
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
    </Shell>
  );
}
