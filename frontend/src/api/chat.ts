// The chat part of the HTTP API, one function per request.
import { call, query } from './http';
import type {
  Config,
  Me,
  NewTurn,
  Operation,
  Page,
  QueuedTurn,
  Schemas,
  SentMode,
  SessionDetail,
  SessionRow,
  Turn,
  WorkspaceFile,
} from './types';

export const PAGE = 30; // messages fetched at a time

export const api = {
  me: () => call<Me>('GET', '/api/me'),
  changeMe: (change: Partial<Pick<Me, 'email' | 'time_zone' | 'theme' | 'model' | 'instructions'>>) =>
    call<Me>('PATCH', '/api/me', change),
  config: () => call<Config>('GET', '/api/config'),
  models: () => call<Schemas['Models']>('GET', '/api/models'),

  sessions: (search: string, cursor: string | null) =>
    call<Page<SessionRow>>('GET', `/api/sessions${query({ limit: 40, search, cursor })}`),
  search: (words: string) => call<Schemas['MessageHitShape'][]>('GET', `/api/search${query({ words })}`),
  pinned: () => call<Page<SessionRow>>('GET', `/api/sessions${query({ limit: 100, pinned: 'true' })}`),
  session: (id: string, before?: string) =>
    call<SessionDetail>('GET', `/api/sessions/${id}${query({ limit: PAGE, before })}`),
  create: (given: { model?: string } = {}) => call<SessionRow>('POST', '/api/sessions', given),
  change: (id: string, change: { title?: string; pinned?: boolean; model?: string }) =>
    call<SessionRow>('PATCH', `/api/sessions/${id}`, change),
  remove: (id: string) => call<void>('DELETE', `/api/sessions/${id}`),
  read: (id: string) => call<void>('POST', `/api/sessions/${id}/read`, {}, { repeatable: true }),
  claim: (id: string) => call<SessionRow>('PATCH', `/api/sessions/${id}/assign-user`, {}),
  fork: (id: string, message: string, fresh: string) =>
    call<Schemas['ForkShape']>(
      'POST',
      `/api/sessions/${id}/fork`,
      { message_id: message, id: fresh },
      { repeatable: true },
    ),
  exportUrl: (id: string, form: 'json' | 'markdown') => `/api/sessions/${id}/export?as=${form}`,

  send: (id: string, turn: NewTurn) =>
    call<{ turn: Turn }>('POST', `/api/sessions/${id}/turns`, turn, { repeatable: true }),
  cancel: (id: string) => call<Schemas['Cancelled']>('POST', `/api/sessions/${id}/cancel`, {}),
  cancelCall: (turn: string, toolCall: string) =>
    call<Schemas['Cancelled']>('POST', `/api/turns/${turn}/tools/${encodeURIComponent(toolCall)}/cancel`, {}),
  editQueued: (turn: string, change: { message?: string; while_running?: SentMode }) =>
    call<QueuedTurn>('PATCH', `/api/turns/${turn}`, change),
  removeQueued: (turn: string) => call<void>('DELETE', `/api/turns/${turn}`),
  show: (turn: string) => call<Turn>('POST', `/api/turns/${turn}/show`, {}, { repeatable: true }),

  operation: (id: string) => call<Operation>('GET', `/api/operations/${id}`),
  followUp: (id: string) => call<Schemas['FollowUpShape']>('GET', `/api/follow-ups/${id}`),
  cancelFollowUp: (id: string) => call<null>('DELETE', `/api/follow-ups/${id}`),
  cancelOperation: (id: string) => call<Schemas['Cancelled']>('POST', `/api/operations/${id}/cancel`, {}),

  file: (id: string) => call<WorkspaceFile>('GET', `/api/files/${id}`),
};
