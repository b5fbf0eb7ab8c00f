import { useLocation } from 'wouter';
import { api } from '../api/chat';
import { errorText } from '../api/errorText';
import { queryClient } from '../api/queries';
import { toast } from '../app/toasts';
import { newId } from '../browser/ids';
import { remember } from '../browser/storage';
import { IconButton } from '../components/Button';
import { useT } from '../i18n';
import { useConversationActions } from './conversationActions';

/** Goes on from a message in a new conversation; a person's own message waits there in the composer. */
export function ForkButton({ message }: { message: string }) {
  const t = useT();
  const { session } = useConversationActions();
  const [, go] = useLocation();
  const fork = async () => {
    try {
      const made = await api.fork(session, message, newId());
      if (made.draft) remember(`draft.${made.id}`, made.draft.content);
      await queryClient.invalidateQueries({ queryKey: ['sessions'] });
      go(`/c/${made.id}`);
    } catch (error) {
      toast(errorText(error, t), 'wrong');
    }
  };
  return <IconButton icon="branch" size="small" label={t('chat.fork')} onClick={() => void fork()} />;
}
