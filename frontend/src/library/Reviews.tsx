import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { Button } from '../components/Button';
import { useT } from '../i18n';
import { useGathered } from '../lib/queries';
import { libraryApi } from './api';
import { ReviewCard } from './ReviewCard';
import { Heading, Listed } from './Screen';

export function Reviews() {
  const t = useT();
  const [all, setAll] = useState(false);
  const state = all ? '' : 'waiting';
  const found = useQuery({ queryKey: ['reviews', state], queryFn: () => libraryApi.reviews(state) });
  useGathered((hint) => hint.type === 'review.requested' || hint.type === 'review.decided' || hint.type === 'reconnected', () => void found.refetch());
  return (
    <>
      <Heading title={t('library.reviews')} about={t('reviews.about')}>
        <Button aria-pressed={all} onClick={() => setAll(!all)}>
          {t(all ? 'reviews.showWaiting' : 'reviews.showAll')}
        </Button>
      </Heading>
      <Listed answer={{ data: found.data?.results, error: found.error, refetch: found.refetch }} icon="shield" empty={t('reviews.none')} hint={t('reviews.hint')}>
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
