// A context with the actions on a conversation, for its components.
import { createContext, useContext } from 'react';
import type { ChatMessage } from '../api/types';

export type ConversationActions = {
  session: string;
  busy: boolean;
  say: (text: string) => void;
  stopCall: (turn: string, call: string) => void;
  regenerate: (message: string, model?: string) => void;
  edit: (message: ChatMessage, text: string) => void;
  show: (turn: string) => void;
};

const NOTHING = () => undefined;
export const ConversationContext = createContext<ConversationActions>({
  session: '',
  busy: false,
  say: NOTHING,
  stopCall: NOTHING,
  regenerate: NOTHING,
  edit: NOTHING,
  show: NOTHING,
});
export const useConversationActions = () => useContext(ConversationContext);
