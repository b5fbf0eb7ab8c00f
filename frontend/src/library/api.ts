// The library part of the HTTP API: agents and their executions, schedules, triggers, reviews and credentials.
import { call, query } from '../api/http';
import type { Answer, Page, Schemas } from '../api/types';

/** A JSON schema of inputs. */
export type Schema = {
  type?: string;
  properties?: Record<string, Schema>;
  required?: string[];
  [more: string]: unknown;
};
type Described = { input_schema: Schema; output_schema: Schema };

export type Agent = Answer<'AgentShape'> & Described;
export type AgentDetail = Answer<'AgentDetail'> & Described;
export type Version = Answer<'VersionShape'>;
export type Change = Schemas['ChangeShape'];
export type Parts = Schemas['PartsShape'];
export type Difference = Answer<'DifferenceShape'>;
export type NodeRun = Pick<
  Answer<'NodeExecutionShape'>,
  'id' | 'node_id' | 'block_id' | 'status' | 'inputs' | 'outputs' | 'error' | 'progress' | 'started_at' | 'ended_at'
>;
export type Execution = Pick<
  Answer<'ExecutionShape'>,
  | 'id'
  | 'agent_id'
  | 'agent_name'
  | 'agent_removed'
  | 'version'
  | 'status'
  | 'rejected'
  | 'inputs'
  | 'outputs'
  | 'error'
  | 'cost'
  | 'source'
  | 'queued_at'
  | 'started_at'
  | 'ended_at'
> & { nodes?: NodeRun[]; graph?: unknown };
export type Review = Pick<
  Answer<'Review'>,
  | 'id'
  | 'name'
  | 'data'
  | 'editable'
  | 'outside_sources'
  | 'tool_name'
  | 'state'
  | 'execution_id'
  | 'agent_name'
  | 'session_id'
  | 'asked_at'
  | 'expires_at'
  | 'message'
>;
export type Remember = '' | 'session' | 'always';
export type ToolServer = Answer<'ToolServer'>;
export type ServerTool = Answer<'ServerTool'>;
export type NewServer = Partial<Schemas['ServerForm']> & { url: string };
export type ToolRule = Answer<'ToolRule'>;
export type Rule = ToolRule['rule'];
export type Schedule = Answer<'Schedule'>;
export type Trigger = Omit<Answer<'Trigger'>, 'secret'> & { secret?: string };
export type Delivery = Answer<'Delivery'>;
export type Credential = Answer<'Credential'>;
export type CredentialKind = Schemas['NewFormKindEnum'];
export type NewCredential = Schemas['NewForm'];
export type Server = { host: string; port?: number; ca_certificate?: string };
export type Provider = Schemas['ProviderShape'];
export type Listing = Answer<'ListingShape'>;
export type ListingDetail = Answer<'ListingDetail'> & Described;
export type Publication = Schemas['Publication'];
export type RunFilter = { agent?: string; status?: string; source?: string };
export type BlockRun = Answer<'BlockResult'>;
export type BlockInfo = Pick<Schemas['BlockShape'], 'id' | 'name' | 'description' | 'category'>;
export type Decision = Omit<Schemas['Decision'], 'message'> & { message?: string };

export type ScheduleChange = Partial<Pick<Schedule, 'enabled' | 'cron' | 'name' | 'timezone' | 'inputs'>>;

export const libraryApi = {
  agents: (search: string, cursor: string | null) =>
    call<Page<Agent>>('GET', `/api/agents${query({ search, cursor })}`),
  agent: (id: string) => call<AgentDetail>('GET', `/api/agents/${id}`),
  importAgent: (document: unknown) => call<AgentDetail>('POST', '/api/agents', document),
  changeAgent: (id: string, change: { name?: string; description?: string }) =>
    call<AgentDetail>('PATCH', `/api/agents/${id}`, change),
  removeAgent: (id: string) => call<void>('DELETE', `/api/agents/${id}`),
  exportUrl: (id: string) => `/api/agents/${id}/export`,
  versions: (id: string, cursor: string | null) =>
    call<Page<Version>>('GET', `/api/agents/${id}/versions${query({ cursor })}`),
  version: (id: string, number: number) => call<Answer<'VersionDetail'>>('GET', `/api/agents/${id}/versions/${number}`),
  difference: (id: string, from: number, to: number) =>
    call<Difference>('GET', `/api/agents/${id}/diff${query({ from, to })}`),
  rollback: (id: string, version: number) => call<AgentDetail>('POST', `/api/agents/${id}/rollback`, { version }),
  fix: (id: string) => call<Answer<'FixedShape'>>('POST', `/api/agents/${id}/fix`, {}),
  execute: (id: string, inputs: Record<string, unknown>, client_id: string) =>
    call<Execution>('POST', `/api/agents/${id}/execute`, { inputs, client_id }),

  uses: (id: string) => call<Schemas['AgentUses']>('GET', `/api/agents/${id}/uses`),

  executions: (filter: RunFilter, cursor: string | null) =>
    call<Page<Execution>>('GET', `/api/executions${query({ ...filter, cursor })}`),
  execution: (id: string) => call<Execution>('GET', `/api/executions/${id}?nodes=1`),
  cancelExecution: (id: string) => call<Schemas['ExecutionCancelled']>('POST', `/api/executions/${id}/cancel`, {}),

  reviews: (state: string, cursor: string | null) =>
    call<Page<Review>>('GET', `/api/reviews${query({ state, cursor })}`),
  openReviews: (execution: string) =>
    call<Page<Review>>('GET', `/api/reviews${query({ state: 'waiting', execution })}`),
  review: (id: string) => call<Review>('GET', `/api/reviews/${id}`),
  decide: (id: string, decision: Decision) => call<Review>('POST', `/api/reviews/${id}/decide`, decision),

  schedules: (cursor: string | null) => call<Page<Schedule>>('GET', `/api/schedules${query({ cursor })}`),
  makeSchedule: (given: {
    name: string;
    agent_id: string;
    cron: string;
    timezone?: string;
    inputs: Record<string, unknown>;
  }) => call<Schedule>('POST', '/api/schedules', given),
  changeSchedule: (id: string, change: ScheduleChange) => call<Schedule>('PATCH', `/api/schedules/${id}`, change),
  runSchedule: (id: string) => call<Schemas['RunAnswer']>('POST', `/api/schedules/${id}/run`, {}),
  removeSchedule: (id: string) => call<void>('DELETE', `/api/schedules/${id}`),

  triggers: (cursor: string | null) => call<Page<Trigger>>('GET', `/api/triggers${query({ cursor })}`),
  makeTrigger: (given: { name: string; agent_id: string; scheme: string }) =>
    call<Trigger>('POST', '/api/triggers', given),
  changeTrigger: (id: string, change: { enabled?: boolean }) => call<Trigger>('PATCH', `/api/triggers/${id}`, change),
  rotateTrigger: (id: string, what: 'address' | 'secret') =>
    call<Trigger>('POST', `/api/triggers/${id}/rotate`, { what }),
  removeTrigger: (id: string) => call<void>('DELETE', `/api/triggers/${id}`),
  deliveries: (id: string, cursor: string | null) =>
    call<Page<Delivery>>('GET', `/api/triggers/${id}/deliveries${query({ cursor })}`),
  testTrigger: (id: string, payload: Record<string, unknown>) =>
    call<Delivery>('POST', `/api/triggers/${id}/test`, { payload }),
  replay: (trigger: string, delivery: string) =>
    call<Delivery>('POST', `/api/triggers/${trigger}/deliveries/${delivery}/replay`, {}),

  credentials: (cursor: string | null) => call<Page<Credential>>('GET', `/api/credentials${query({ cursor })}`),
  keepCredential: (given: NewCredential) => call<Credential>('POST', '/api/credentials', given),
  bindCredential: (id: string, server: Server) => call<Credential>('PATCH', `/api/credentials/${id}`, server),
  removeCredential: (id: string) => call<void>('DELETE', `/api/credentials/${id}`),
  providers: () => call<Page<Provider>>('GET', '/api/credentials/providers'),
  signInUrl: (provider: string, next: string) => `/api/credentials/oauth/${provider}/start${query({ next })}`,

  connections: () => call<Page<ToolServer>>('GET', '/api/connections'),
  addServer: (given: NewServer) => call<ToolServer>('POST', '/api/connections', given),
  changeServer: (id: string, change: { enabled?: boolean; title?: string }) =>
    call<ToolServer>('PATCH', `/api/connections/${id}`, change),
  removeServer: (id: string) => call<void>('DELETE', `/api/connections/${id}`),
  refreshServer: (id: string) => call<ToolServer>('POST', `/api/connections/${id}/refresh`, {}),
  signInAtServer: (id: string, next: string) =>
    call<{ url: string }>('POST', `/api/connections/${id}/sign-in`, { next }),
  changeServerTool: (server: string, tool: string, change: { pinned?: boolean }) =>
    call<ServerTool>('PATCH', `/api/connections/${server}/tools/${tool}`, change),
  approveServerTool: (server: string, tool: string, digest: string) =>
    call<ServerTool>('POST', `/api/connections/${server}/tools/${tool}/approve`, { digest }),
  toolRules: () => call<{ results: ToolRule[] }>('GET', '/api/tools'),
  setToolRule: (name: string, rule: Rule | 'default') => call<ToolRule>('PUT', `/api/tools/${name}/rule`, { rule }),

  store: (search: string, cursor: string | null) =>
    call<Page<Listing>>('GET', `/api/store${query({ search, cursor })}`),
  addFromStore: (username: string, slug: string) => call<Agent>('POST', `/api/store/${username}/${slug}/add`, {}),
  withdraw: (username: string, slug: string) => call<void>('DELETE', `/api/store/${username}/${slug}`),
  listing: (username: string, slug: string) => call<ListingDetail>('GET', `/api/store/${username}/${slug}`),
  publish: (given: Publication) => call<Listing>('POST', '/api/store', given),

  runBlock: (id: string, inputs: Record<string, unknown>, client_id: string) =>
    call<BlockRun>('POST', `/api/blocks/${id}/execute`, { inputs, client_id }),
  blocksElsewhere: () => call<Schemas['ForeignBlockShape'][]>('GET', '/api/blocks/elsewhere'),
  blocks: (cursor: string | null) => call<Page<BlockInfo>>('GET', `/api/blocks${query({ limit: 100, cursor })}`),
};
