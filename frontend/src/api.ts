// The HTTP API as the page uses it: cookie session, CSRF token from the cookie, errors in words.
import type { UIMessage } from 'ai';

export type Metadata = {
  turn_id?: string;
  created_at?: string;
  status?: string;
  end_reason?: string;
  error?: string;
  usage?: { input_tokens: number; output_tokens: number; cost: string };
};
export type ChatMessage = UIMessage<Metadata>;
export type SessionRow = { id: string; title: string; status: 'idle' | 'queued' | 'running'; pinned: boolean };
export type Turn = { id: string; status: string; message?: { content: string } };
export type SessionDetail = SessionRow & {
  messages: ChatMessage[];
  before: string | null;
  active_turn: Turn | null;
  queued_turns: Turn[];
};
export type Me = { username: string };

export class ApiError extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
  }
}

function csrfToken(): string {
  return document.cookie.match(/(?:^|; )(?:__Host-)?csrftoken=([^;]+)/)?.[1] ?? '';
}

export async function call<T>(method: string, path: string, body?: unknown): Promise<T> {
  const response = await fetch(path, {
    method,
    headers: {
      'X-CSRFToken': csrfToken(),
      ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  if (response.status === 204) return undefined as T;
  const answer: unknown = await response.json().catch(() => null);
  if (response.ok) return answer as T;
  if (response.status === 401 || response.status === 403) location.assign('/login/');
  const error = (answer as { error?: { message?: string } } | null)?.error;
  throw new ApiError(response.status, error?.message ?? `The server answered ${response.status}.`);
}

export const api = {
  me: () => call<Me>('GET', '/api/me'),
  sessions: (search: string) =>
    call<{ results: SessionRow[] }>('GET', `/api/sessions?limit=100${search ? `&search=${encodeURIComponent(search)}` : ''}`),
  session: (id: string) => call<SessionDetail>('GET', `/api/sessions/${id}`),
  create: () => call<SessionRow>('POST', '/api/sessions', {}),
  rename: (id: string, title: string) => call<SessionRow>('PATCH', `/api/sessions/${id}`, { title }),
  remove: (id: string) => call<void>('DELETE', `/api/sessions/${id}`),
  cancel: (id: string) => call<{ cancelled: boolean }>('POST', `/api/sessions/${id}/cancel`, {}),
  queue: (id: string, message: string, while_running: string) =>
    call<{ turn: Turn }>('POST', `/api/sessions/${id}/turns`, { message, while_running, client_id: crypto.randomUUID() }),
  editQueued: (id: string, change: { message?: string; while_running?: string }) =>
    call<unknown>('PATCH', `/api/turns/${id}`, change),
  removeQueued: (id: string) => call<void>('DELETE', `/api/turns/${id}`),
};
