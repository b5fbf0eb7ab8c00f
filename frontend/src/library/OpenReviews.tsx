import { useQuery } from '@tanstack/react-query';
import { useGathered } from '../api/queries';
import { libraryApi } from './api';
import { ReviewCard } from './ReviewCard';

/** The open reviews of a run. It may ask several times, even before the last answer has arrived. */
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
