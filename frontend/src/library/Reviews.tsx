import { useState } from 'react';
import { Button } from '../components/Button';
import { useT } from '../i18n';
import { useGathered, usePages } from '../api/queries';
import { libraryApi } from './api';
import { ReviewCard } from './ReviewCard';
import { Heading, Listed } from './Screen';

export function Reviews() {
  const t = useT();
  const [all, setAll] = useState(false);
  const state = all ? '' : 'waiting';
  const found = usePages(['reviews', state], (cursor) => libraryApi.reviews(state, cursor));
  useGathered(
    (hint) => hint.type === 'review.requested' || hint.type === 'review.decided' || hint.type === 'reconnected',
    () => void found.refetch(),
  );
  return (
    <>
      <Heading title={t('library.reviews')} about={t('reviews.about')}>
        <Button aria-pressed={all} onClick={() => setAll(!all)}>
          {t(all ? 'reviews.showWaiting' : 'reviews.showAll')}
        </Button>
      </Heading>
      <Listed answer={found} icon="shield" empty={t('reviews.none')} hint={t('reviews.hint')}>
        {(rows) => (
          <div className="flex max-w-3xl flex-col gap-4">
            {rows.map((review) => (
              <ReviewCard key={review.id} review={review} />
            ))}
          </div>
        )}
      </Listed>
    </>
  );
}
