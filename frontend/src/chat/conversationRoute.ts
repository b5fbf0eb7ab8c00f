// The page of a conversation, fetched ahead by the page where one begins.
import { lazyPage } from '../app/lazyPage';

export const Conversation = lazyPage(() => import('./ConversationPage'));
