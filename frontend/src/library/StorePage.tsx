import { useQuery } from '@tanstack/react-query';
import { lazy, Suspense, useMemo, useState } from 'react';
import { Link, useLocation } from 'wouter';
import { errorText } from '../api/errorText';
import { queryClient, useMe } from '../api/queries';
import { Button } from '../components/Button';
import { Confirm } from '../components/Dialog';
import { Icon } from '../components/icons';
import { Ago, Badge, Failed, Loading } from '../components/Pieces';
import { readGraph } from '../graph/model';
import { useT } from '../i18n';
import { type ListingDetail, libraryApi, type Schema } from './api';
import { fieldsOf } from './schema';
import { Heading, useAttempt } from './Screen';
import { useBlockNames } from './useBlockNames';

const GraphView = lazy(() => import('../graph/GraphView'));

/** One published agent: what it does, takes and gives, and its graph, before one adds it. */
export function StorePage({ username, slug }: { username: string; slug: string }) {
  const t = useT();
  const { data, error, refetch } = useQuery({
    queryKey: ['store', 'listing', username, slug],
    queryFn: () => libraryApi.listing(username, slug),
  });
  if (error) return <Failed words={errorText(error, t)} onRetry={() => void refetch()} />;
  if (!data) return <Loading />;
  return (
    <>
      <Link href="/library/store" className="inline-flex items-center gap-1 pb-3 text-sm text-quiet hover:text-ink">
        <Icon name="left" size={14} /> {t('library.store')}
      </Link>
      <Heading
        title={data.name}
        about={
          <span className="flex flex-wrap items-center gap-2">
            <Badge>{t('agents.version', { version: data.version })}</Badge>
            <span>{t('store.additions', { count: data.additions })}</span>
            <Ago when={data.published_at} />
          </span>
        }
      >
        <ListingActions listing={data} />
      </Heading>
      <ListingView listing={data} />
    </>
  );
}

function ListingActions({ listing }: { listing: ListingDetail }) {
  const t = useT();
  const [, go] = useLocation();
  const attempt = useAttempt();
  const [asking, setAsking] = useState(false);
  const own = useMe().data?.username === listing.username;
  const add = async () => {
    const agent = await attempt(libraryApi.addFromStore(listing.username, listing.slug));
    if (!agent) return;
    await queryClient.invalidateQueries({ queryKey: ['agents'] });
    go(`/library/agents/${agent.id}`);
  };
  const withdraw = async () => {
    await attempt(libraryApi.withdraw(listing.username, listing.slug));
    await queryClient.invalidateQueries({ queryKey: ['store'] });
    go('/library/store');
  };
  return (
    <>
      <Button look="strong" icon={own ? 'open' : 'plus'} onClick={() => void add()}>
        {t(own ? 'store.openOwn' : 'store.add')}
      </Button>
      {own && <Button onClick={() => setAsking(true)}>{t('store.withdraw')}</Button>}
      <Confirm
        open={asking}
        onClose={() => setAsking(false)}
        onConfirm={() => void withdraw()}
        title={t('store.withdrawTitle')}
        about={t('store.withdrawAbout')}
        action={t('store.withdraw')}
      />
    </>
  );
}

type Shown = Pick<
  ListingDetail,
  'name' | 'username' | 'slug' | 'description' | 'categories' | 'input_schema' | 'output_schema' | 'graph'
>;

/** What others see of a published agent. */
export function ListingView({ listing }: { listing: Shown }) {
  const t = useT();
  const names = useBlockNames();
  const graph = useMemo(() => readGraph(listing.graph), [listing.graph]);
  return (
    <div className="flex flex-col gap-5 text-sm">
      <div>
        <p className="text-base font-semibold">{listing.name}</p>
        <p className="text-quiet">
          {listing.username}/{listing.slug}
        </p>
        <p className="max-w-2xl pt-2 whitespace-pre-wrap">{listing.description || t('agents.noDescription')}</p>
        <p className="flex flex-wrap gap-2 pt-2">
          {listing.categories.map((category) => (
            <Badge key={category}>{category}</Badge>
          ))}
        </p>
      </div>
      <div className="grid gap-4 sm:grid-cols-2">
        <Pins title={t('run.inputs')} none={t('form.nothing')} schema={listing.input_schema} />
        <Pins title={t('run.outputs')} none={t('run.noOutputs')} schema={listing.output_schema} />
      </div>
      <Suspense fallback={<Loading />}>
        <GraphView graph={graph} names={names} compact />
      </Suspense>
    </div>
  );
}

function Pins({ title, none, schema }: { title: string; none: string; schema: Schema }) {
  const fields = fieldsOf(schema);
  return (
    <div>
      <h3 className="pb-1 font-semibold">{title}</h3>
      {fields.length === 0 && <p className="text-quiet">{none}</p>}
      <ul className="flex flex-col gap-1">
        {fields.map((one) => (
          <li key={one.name}>
            <span className="font-medium">{one.label}</span>
            {one.about && <span className="text-quiet"> · {one.about}</span>}
          </li>
        ))}
      </ul>
    </div>
  );
}
