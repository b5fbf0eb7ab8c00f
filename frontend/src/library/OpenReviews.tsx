import { useQuery } from '@tanstack/react-query';
import { useGathered } from '../api/queries';
import { libraryApi } from './api';
import { ReviewCard } from './ReviewCard';

/** What a run waits for now. One run may ask several times, also while the last answer is still on its way. */
export function OpenReviews({ execution }: { execution: string }) {
  const { data, refetch } = useQuery({
    queryKey: ['reviews', 'waiting', execution],
    queryFn: () => libraryApi.openReviews(execution),
    staleTime: 0,
  });
  useGathered(
    (hint) => hint.type === 'review.requested' || hint.type === 'review.decided' || hint.type === 'reconnected',
    () => void refetch(),
  );
  return data?.results.map((review) => <ReviewCard key={review.id} review={review} inRun />);
}
