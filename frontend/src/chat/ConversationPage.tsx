import { useQuery } from '@tanstack/react-query';
import { LoadingPage, Page } from '../app/Page';
import { Failed } from '../components/Pieces';
import { useT } from '../i18n';
import { api } from '../api/chat';
import { ApiError } from '../api/http';
import { errorText } from '../api/errorText';
import type { SessionDetail } from '../api/types';
import { ConversationView } from './ConversationView';

/** A conversation by its address. Cached messages are shown at once, then refreshed. */
export default function ConversationPage({ id }: { id: string }) {
  const t = useT();
  const { data, error, refetch } = useQuery({
    queryKey: ['session', id],
    queryFn: () => openSession(id),
    staleTime: Infinity,
  });
  if (data) return <ConversationView detail={data} />;
  if (!error) return <LoadingPage />;
  return (
    <Page title={t('chat.cannotOpen')}>
      <Failed words={errorText(error, t)} onRetry={() => void refetch()} />
    </Page>
  );
}

/** Moves a visitor's conversation to their account after they log in. */
async function openSession(id: string): Promise<SessionDetail> {
  try {
    return await api.session(id);
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 404) throw error;
    const mine = await api.claim(id).catch(() => null);
    if (!mine) throw error;
    return api.session(id);
  }
}
