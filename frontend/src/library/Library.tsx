import { useEffect, useRef } from 'react';
import { Link, Route, Switch, useLocation } from 'wouter';
import { NothingHere } from '../app/Missing';
import { Page } from '../app/Page';
import { classes } from '../components/classes';
import { Icon, type IconName } from '../components/icons';
import { type Key, useT } from '../i18n';
import { AgentPage } from './AgentPage';
import { Agents } from './Agents';
import { Connections } from './Connections';
import { Credentials } from './Credentials';
import { ExecutionPage } from './ExecutionPage';
import { Executions } from './Executions';
import { Reviews } from './Reviews';
import { Schedules } from './Schedules';
import { Store } from './Store';
import { StorePage } from './StorePage';
import { Triggers } from './Triggers';

const PLACES: [string, IconName, Key][] = [
  ['/library', 'agent', 'library.agents'],
  ['/library/runs', 'play', 'library.runs'],
  ['/library/reviews', 'question', 'library.reviews'],
  ['/library/schedules', 'clock', 'library.schedules'],
  ['/library/triggers', 'bolt', 'library.triggers'],
  ['/library/credentials', 'key', 'library.credentials'],
  ['/library/connections', 'globe', 'library.connections'],
  ['/library/store', 'store', 'library.store'],
];

export default function Library() {
  const t = useT();
  const [path] = useLocation();
  const places = useRef<HTMLElement>(null);
  useEffect(() => {
    places.current?.querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
  }, [path]);
  return (
    <Page title={t('library.title')}>
      <nav ref={places} aria-label={t('library.title')} className="-mx-1 flex gap-1 overflow-x-auto px-1 pb-5">
        {PLACES.map(([href, icon, name]) => {
          const here =
            href === '/library' ? path === href || path.startsWith('/library/agents') : path.startsWith(href);
          return (
            <Link
              key={href}
              href={href}
              aria-current={here ? 'page' : undefined}
              className={classes(
                'flex items-center gap-2 rounded-lg px-3 py-2 text-sm whitespace-nowrap',
                here ? 'bg-chosen font-medium' : 'text-quiet hover:bg-hover hover:text-ink',
              )}
            >
              <Icon name={icon} size={16} /> {t(name)}
            </Link>
          );
        })}
      </nav>
      <Switch>
        <Route path="/library" component={Agents} />
        <Route path="/library/agents" component={Agents} />
        <Route path="/library/agents/:id/:tab?">{({ id }) => <AgentPage key={id} id={id} />}</Route>
        <Route path="/library/agents/:agent/executions/:id">{({ id }) => <ExecutionPage key={id} id={id} />}</Route>
        <Route path="/library/runs" component={Executions} />
        <Route path="/library/runs/:id">{({ id }) => <ExecutionPage key={id} id={id} />}</Route>
        <Route path="/library/reviews" component={Reviews} />
        <Route path="/library/schedules" component={Schedules} />
        <Route path="/library/triggers" component={Triggers} />
        <Route path="/library/credentials" component={Credentials} />
        <Route path="/library/connections" component={Connections} />
        <Route path="/library/store" component={Store} />
        <Route path="/library/store/:username/:slug">
          {({ username, slug }) => <StorePage username={username} slug={slug} />}
        </Route>
        <Route component={NothingHere} />
      </Switch>
    </Page>
  );
}
