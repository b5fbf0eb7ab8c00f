// The shapes of the HTTP API that the pages use.
import type { UIMessage } from 'ai';

export type Usage = { input_tokens: number; output_tokens: number; cost: string };
export type Metadata = {
  turn_id?: string;
  created_at?: string;
  status?: string;
  end_reason?: string;
  error?: string;
  usage?: Usage;
  files_seen?: string[];
  steered_step?: number;
};
export type ChatMessage = UIMessage<Metadata>;
export type Part = ChatMessage['parts'][number];

export type SessionStatus = 'idle' | 'queued' | 'running';
export type SessionRow = {
  id: string;
  title: string;
  status: SessionStatus;
  needs_you: boolean;
  pinned: boolean;
  parent: string | null;
  created_at: string;
  active_at: string;
};
export type SentMode = 'queue' | 'steer' | 'interrupt';
export type Turn = { id: string; status: string; end_reason: string | null; error: string | null; while_running: SentMode };
export type QueuedTurn = Turn & { message: { id: string; content: string; attachments: string[] } | null };
export type SessionDetail = SessionRow & {
  messages: ChatMessage[];
  before: string | null;
  active_turn: Turn | null;
  queued_turns: QueuedTurn[];
};
export type Page<T> = { results: T[]; next: string | null };

export type WorkspaceFile = {
  id: string;
  name: string;
  path: string;
  media_type: string;
  size: number;
  content_url: string;
};

export type OperationStatus = 'queued' | 'running' | 'waiting' | 'completed' | 'failed' | 'cancelled';
export type Operation = {
  id: string;
  session_id: string;
  tool_name: string;
  status: OperationStatus;
  progress: number;
  message: string;
  result: unknown;
  error: string | null;
  queued_at: string;
};

export type Theme = 'system' | 'light' | 'dark';
export type Me = {
  username: string;
  email: string;
  time_zone: string;
  theme: Theme;
  is_staff: boolean;
  admin_url: string;
  limits: { day_budget: number | null; month_budget: number | null };
};
export type Config = {
  model: string;
  sees_images: boolean;
  limits: { message_characters: number; attachments: number; file_bytes: number; title_characters: number };
};
