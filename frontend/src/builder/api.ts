// The drafts part of the HTTP API.
import { call } from '../api/http';
import type { Answer, Page, Schemas } from '../api/types';
import type { BlockRun, Execution } from '../library/api';
import type { Doc } from './document';
import type { Block } from './pins';

export type Problem = Schemas['ProblemShape'];
export type Proposal = { key: string; summary: string; base: Doc; graph: Doc };
export type Pinned = Record<string, [string, unknown][]>;
export type Draft = Omit<Answer<'DraftShape'>, 'graph' | 'proposal' | 'pinned'> & {
  graph: Doc;
  proposal: Proposal | null;
  pinned: Pinned;
};
export type DraftSave = { graph: Doc; revision: number; save_id: string; client_id: string; base_version?: number };
export type Editor = Schemas['EditorShape'];
type Changed = { graph: Doc; fixes: Problem[] };

const at = (id: string, rest = '') => `/api/agents/${id}/draft${rest}`;
const node = (id: string, node_id: string, rest: string) => at(id, `/nodes/${encodeURIComponent(node_id)}/${rest}`);

export const draftApi = {
  get: (id: string) => call<Draft>('GET', at(id)),
  save: (id: string, save: DraftSave) => call<Draft>('PUT', at(id), save, { repeatable: true }),
  publish: (id: string, revision: number, note: string) =>
    call<Answer<'AgentDetail'>>('POST', at(id, '/publish'), { revision, note }),
  discard: (id: string) => call<Draft>('DELETE', at(id)),
  fix: (id: string, graph: Doc) => call<Changed>('POST', at(id, '/fix'), { graph }),
  arrange: (id: string, graph: Doc) => call<Changed>('POST', at(id, '/arrange'), { graph }),
  editors: (id: string, client_id: string, device: string) =>
    call<{ editors: Editor[] }>('POST', at(id, '/editors'), { client_id, device }),
  leave: (id: string, client_id: string) => call<unknown>('POST', at(id, '/editors'), { client_id, closed: true }),
  run: (id: string, revision: number, inputs: Record<string, unknown>, client_id: string) =>
    call<Execution>('POST', at(id, '/run'), { revision, inputs, client_id }),
  runNode: (id: string, node_id: string, inputs: Record<string, unknown>, client_id: string) =>
    call<BlockRun>('POST', node(id, node_id, 'run'), { inputs, client_id }),
  pin: (id: string, node_id: string, given: { outputs?: [string, unknown][]; execution_id?: string }) =>
    call<Draft>('PUT', node(id, node_id, 'pin'), given),
  unpin: (id: string, node_id: string) => call<Draft>('DELETE', node(id, node_id, 'pin')),
  closeProposal: (id: string, key: string) => call<Draft>('POST', at(id, '/proposal'), { key }),
  openSession: (id: string, session_id: string) => call<Draft>('PUT', at(id, '/session'), { session_id }),
  retry: (execution: string, draft: boolean, client_id: string) =>
    call<Execution>('POST', `/api/executions/${execution}/retry`, { draft, client_id }),
  blocks: () => call<Page<Block>>('GET', '/api/blocks'),
};
