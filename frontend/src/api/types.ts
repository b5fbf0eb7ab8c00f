// The types of the HTTP API that the pages use, selected from those generated from its schema.
import type { UIMessage } from 'ai';
import type { components } from './schema';

export type Schemas = components['schemas'];
/** A response type: fields that are optional in a request are always present. */
export type Answer<Name extends keyof Schemas> = Required<Schemas[Name]>;
export type Page<T> = { results: T[]; next: string | null };

/** The metadata of a message; the schema leaves it open, as the AI SDK does. */
export type Metadata = {
  turn_id?: string;
  created_at?: string;
  status?: string;
  end_reason?: string;
  error?: string;
  model?: string;
  usage?: Pick<Schemas['TurnUsage'], 'input_tokens' | 'output_tokens' | 'cost'> & { cached_tokens?: number };
  files_seen?: string[];
  steered_step?: number;
};
/** `versions`: all answers to the same message, or all wordings of it, where there are several. */
export type ChatMessage = UIMessage<Metadata> & { versions?: Schemas['MessageVersion'][] };
export type Part = ChatMessage['parts'][number];

export type SessionStatus = Schemas['SessionStatusEnum'];
export type SessionRow = Omit<Answer<'SessionShape'>, 'permissions'>;
export type SentMode = Exclude<Schemas['WhileRunningEnum'], 'reject'>;
export type Turn = Pick<Answer<'TurnShape'>, 'id' | 'status' | 'end_reason' | 'error'> & {
  while_running: SentMode; // what is rejected while something runs never becomes a turn that waits
};
export type QueuedTurn = Turn & { message: Omit<Schemas['InputShape'], 'created_at'> | null };
export type SessionDetail = SessionRow & {
  messages: ChatMessage[];
  before: Schemas['SessionDetail']['before'];
  active_turn: Turn | null;
  queued_turns: QueuedTurn[];
};
export type NewTurn = Required<Omit<Schemas['NewTurn'], 'context' | 'model'>> & Pick<Schemas['NewTurn'], 'model'>;

export type WorkspaceFile = Pick<Answer<'File'>, 'id' | 'name' | 'path' | 'media_type' | 'size' | 'content_url'>;

export type OperationStatus = Schemas['JobStatusEnum'];
export type Operation = Pick<
  Answer<'OperationShape'>,
  'id' | 'session_id' | 'tool_name' | 'status' | 'progress' | 'message' | 'result' | 'error' | 'queued_at'
>;

export type Theme = Schemas['ThemeEnum'];
export type Me = Answer<'Me'>;
export type Config = Answer<'Config'>;
