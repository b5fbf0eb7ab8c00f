import { useState } from 'react';
import { Link, useLocation, useSearchParams } from 'wouter';
import { Button } from '../components/Button';
import { Icon } from '../components/icons';
import { Badge } from '../components/Pieces';
import { useT } from '../i18n';
import { useServerState } from '../browser/debounce';
import { queryClient, usePages } from '../api/queries';
import { type Listing, libraryApi } from './api';
import { Heading, Listed, useAttempt } from './Screen';
import { SearchField } from './SearchField';

export function Store() {
  const t = useT();
  const [asked] = useSearchParams();
  const [search, setSearch] = useState(asked.get('search') ?? '');
  const words = useServerState(search.trim(), 250);
  const found = usePages(['store', words], (cursor) => libraryApi.store(words, cursor), { steady: true });
  return (
    <>
      <Heading title={t('library.store')} about={t('store.about')}>
        <SearchField label={t('store.search')} value={search} onChange={setSearch} />
      </Heading>
      <Listed answer={found} icon="store" empty={t(words ? 'store.nothingFound' : 'store.none')} hint={t('store.hint')}>
        {(rows) => (
          <ul className="grid gap-4 sm:grid-cols-2 lg:grid-cols-3">
            {rows.map((listing) => (
              <Card key={`${listing.username}/${listing.slug}`} listing={listing} />
            ))}
          </ul>
        )}
      </Listed>
    </>
  );
}

function Card({ listing }: { listing: Listing }) {
  const t = useT();
  const [, go] = useLocation();
  const attempt = useAttempt();
  const add = async () => {
    const agent = await attempt(libraryApi.addFromStore(listing.username, listing.slug));
    if (!agent) return;
    await queryClient.invalidateQueries({ queryKey: ['agents'] });
    go(`/library/agents/${agent.id}`);
  };
  return (
    <li className="panel flex flex-col gap-2 p-4">
      <span className="flex items-center gap-2.5">
        <span className="rounded-lg bg-hover p-1.5 text-quiet">
          <Icon name="store" />
        </span>
        <span className="min-w-0 flex-1">
          <Link
            href={`/library/store/${listing.username}/${listing.slug}`}
            className="block truncate font-medium hover:underline"
          >
            {listing.name}
          </Link>
          <span className="block truncate text-xs text-quiet">
            {listing.username}/{listing.slug}
          </span>
        </span>
      </span>
      <p className="line-clamp-3 flex-1 text-sm text-quiet">{listing.description}</p>
      <span className="flex flex-wrap items-center gap-2 pt-1">
        {listing.categories.map((category) => (
          <Badge key={category}>{category}</Badge>
        ))}
        <span className="text-xs text-quiet">{t('store.additions', { count: listing.additions })}</span>
        <span className="ml-auto flex gap-2">
          <Button small icon="plus" onClick={() => void add()}>
            {t('store.add')}
          </Button>
        </span>
      </span>
    </li>
  );
}
