import { useQuery } from '@tanstack/react-query';
import { Page } from '../app/Page';
import { Failed, Loading } from '../components/Pieces';
import { useT } from '../i18n';
import { api } from '../lib/api';
import { inWords } from '../lib/words';
import { TalkView } from './TalkView';

/** A conversation by its address. What is known of it from before is shown at once; the view itself looks for news. */
export default function Conversation({ id }: { id: string }) {
  const t = useT();
  const { data, error, refetch } = useQuery({ queryKey: ['session', id], queryFn: () => api.session(id), staleTime: Infinity });
  if (data) return <TalkView detail={data} />;
  if (!error) return <Loading />;
  return (
    <Page title={t('chat.cannotOpen')}>
      <Failed words={inWords(error, t)} onRetry={() => void refetch()} />
    </Page>
  );
}
