// Agents and what runs them: the library's part of the HTTP API.
import { call, query } from '../lib/http';
import type { Page } from '../lib/types';

export type Schema = { type?: string; properties?: Record<string, Schema>; required?: string[]; [more: string]: unknown };
export type Problem = { code: string; message: string; node_id?: string; pin?: string };
export type Validation = { valid: boolean; errors: Problem[]; warnings: Problem[] };
export type Agent = {
  id: string;
  name: string;
  description: string;
  version: number;
  source: string;
  store: string | null;
  valid: boolean;
  input_schema: Schema;
  output_schema: Schema;
  updated_at: string;
};
export type AgentDetail = Agent & { graph: unknown; validation: Validation };
export type Version = { version: number; note: string; valid: boolean; created_at: string };
export type Change = { field: string; before: unknown; after: unknown };
export type Parts = { added: Record<string, unknown>[]; removed: Record<string, unknown>[]; changed: { id: string; changes: Change[] }[] };
export type Difference = { from_version: number; to_version: number; nodes: Parts; links: Parts; graph: Change[] };
export type NodeRun = {
  id: string;
  node_id: string;
  block_id: string;
  status: string;
  inputs: unknown;
  outputs: unknown;
  error: string | null;
  progress?: number;
  started_at: string | null;
  ended_at: string | null;
};
export type Execution = {
  id: string;
  agent_id: string;
  agent_name?: string;
  version: number;
  status: string;
  inputs: Record<string, unknown>;
  outputs: Record<string, unknown[]>;
  error: string | null;
  cost: string | number;
  source?: string;
  queued_at: string;
  started_at: string | null;
  ended_at: string | null;
  nodes?: NodeRun[];
};
export type Review = {
  id: string;
  name: string;
  data: unknown;
  editable: boolean;
  outside_sources?: string[];
  state: 'waiting' | 'approved' | 'rejected' | 'expired' | 'withdrawn';
  execution_id: string | null;
  agent_name: string | null;
  session_id: string | null;
  asked_at: string;
  expires_at: string | null;
  message: string;
};
export type Schedule = {
  id: string;
  name: string;
  agent_id: string;
  agent_name: string;
  cron: string;
  timezone: string;
  words: string | null;
  inputs: Record<string, unknown>;
  enabled: boolean;
  next_run_at: string | null;
  last_execution_id: string | null;
  last_error: string | null;
};
export type Trigger = { id: string; name: string; agent_id: string; agent_name: string; url: string; scheme: string; enabled: boolean; called_at: string | null; secret?: string };
export type Delivery = { id: string; state: string; error: string; execution_id: string | null; received_at: string; payload: unknown };
export type Credential = { id: string; provider: string; kind: string; title: string; host: string; port: number | null; status: string; created_at: string; used_at: string | null };
export type CredentialKind = 'api_key' | 'user_password' | 'host_scoped';
export type NewCredential = { provider: string; kind: CredentialKind; title?: string; host?: string; port?: number; ca_certificate?: string; api_key?: string; username?: string; password?: string; headers?: Record<string, string> };
export type Server = { host: string; port?: number; ca_certificate?: string };
export type Provider = { name: string; title: string; scopes: string[] };
export type Listing = { username: string; slug: string; name: string; description: string; categories: string[]; version: number; additions: number; published_at: string };
export type BlockRun = { status: 'completed' | 'failed' | 'review' | 'running'; outputs: Record<string, unknown[]>; error: string | null; review_id: string | null };
export type BlockInfo = { id: string; name: string; description: string; category?: string; categories?: string[] };

export type Decision = { approved: boolean; data?: unknown; message?: string };

export const libraryApi = {
  agents: (search: string, cursor: string | null) => call<Page<Agent>>('GET', `/api/agents${query({ search, cursor })}`),
  agent: (id: string) => call<AgentDetail>('GET', `/api/agents/${id}`),
  importAgent: (document: unknown) => call<AgentDetail>('POST', '/api/agents', document),
  changeAgent: (id: string, change: { name?: string; description?: string }) => call<AgentDetail>('PATCH', `/api/agents/${id}`, change),
  removeAgent: (id: string) => call<void>('DELETE', `/api/agents/${id}`),
  exportUrl: (id: string) => `/api/agents/${id}/export`,
  versions: (id: string, cursor: string | null) => call<Page<Version>>('GET', `/api/agents/${id}/versions${query({ cursor })}`),
  version: (id: string, number: number) => call<{ graph: unknown }>('GET', `/api/agents/${id}/versions/${number}`),
  difference: (id: string, from: number, to: number) => call<Difference>('GET', `/api/agents/${id}/diff${query({ from, to })}`),
  rollback: (id: string, version: number) => call<AgentDetail>('POST', `/api/agents/${id}/rollback`, { version }),
  fix: (id: string) => call<{ fixes: Problem[]; changed: boolean }>('POST', `/api/agents/${id}/fix`, {}),
  execute: (id: string, inputs: Record<string, unknown>, client_id: string) => call<Execution>('POST', `/api/agents/${id}/execute`, { inputs, client_id }),

  executions: (agent: string | undefined, cursor: string | null) => call<Page<Execution>>('GET', `/api/executions${query({ agent, cursor })}`),
  execution: (id: string) => call<Execution>('GET', `/api/executions/${id}?nodes=1`),
  cancelExecution: (id: string) => call<{ cancelled: boolean }>('POST', `/api/executions/${id}/cancel`, {}),

  reviews: (state: string, cursor: string | null) => call<Page<Review>>('GET', `/api/reviews${query({ state, cursor })}`),
  openReviews: (execution: string) => call<Page<Review>>('GET', `/api/reviews${query({ state: 'waiting', execution })}`),
  review: (id: string) => call<Review>('GET', `/api/reviews/${id}`),
  decide: (id: string, decision: Decision) => call<Review>('POST', `/api/reviews/${id}/decide`, decision),

  schedules: (cursor: string | null) => call<Page<Schedule>>('GET', `/api/schedules${query({ cursor })}`),
  makeSchedule: (given: { name: string; agent_id: string; cron: string; timezone?: string; inputs: Record<string, unknown> }) =>
    call<Schedule>('POST', '/api/schedules', given),
  changeSchedule: (id: string, change: { enabled?: boolean; cron?: string; name?: string }) => call<Schedule>('PATCH', `/api/schedules/${id}`, change),
  runSchedule: (id: string) => call<{ execution_id: string }>('POST', `/api/schedules/${id}/run`, {}),
  removeSchedule: (id: string) => call<void>('DELETE', `/api/schedules/${id}`),

  triggers: (cursor: string | null) => call<Page<Trigger>>('GET', `/api/triggers${query({ cursor })}`),
  makeTrigger: (given: { name: string; agent_id: string; scheme: string }) => call<Trigger>('POST', '/api/triggers', given),
  changeTrigger: (id: string, change: { enabled?: boolean }) => call<Trigger>('PATCH', `/api/triggers/${id}`, change),
  rotateTrigger: (id: string, what: 'address' | 'secret') => call<Trigger>('POST', `/api/triggers/${id}/rotate`, { what }),
  removeTrigger: (id: string) => call<void>('DELETE', `/api/triggers/${id}`),
  deliveries: (id: string, cursor: string | null) => call<Page<Delivery>>('GET', `/api/triggers/${id}/deliveries${query({ cursor })}`),
  replay: (trigger: string, delivery: string) => call<Delivery>('POST', `/api/triggers/${trigger}/deliveries/${delivery}/replay`, {}),

  credentials: (cursor: string | null) => call<Page<Credential>>('GET', `/api/credentials${query({ cursor })}`),
  keepCredential: (given: NewCredential) => call<Credential>('POST', '/api/credentials', given),
  bindCredential: (id: string, server: Server) => call<Credential>('PATCH', `/api/credentials/${id}`, server),
  removeCredential: (id: string) => call<void>('DELETE', `/api/credentials/${id}`),
  providers: () => call<Page<Provider>>('GET', '/api/credentials/providers'),
  signInUrl: (provider: string, next: string) => `/api/credentials/oauth/${provider}/start${query({ next })}`,

  store: (search: string, cursor: string | null) => call<Page<Listing>>('GET', `/api/store${query({ search, cursor })}`),
  addFromStore: (username: string, slug: string) => call<Agent>('POST', `/api/store/${username}/${slug}/add`, {}),
  withdraw: (username: string, slug: string) => call<void>('DELETE', `/api/store/${username}/${slug}`),
  publish: (agent_id: string) => call<Listing>('POST', '/api/store', { agent_id }),

  runBlock: (id: string, inputs: Record<string, unknown>, client_id: string) => call<BlockRun>('POST', `/api/blocks/${id}/execute`, { inputs, client_id }),
  blocks: (cursor: string | null) => call<Page<BlockInfo>>('GET', `/api/blocks${query({ limit: 100, cursor })}`),
};
