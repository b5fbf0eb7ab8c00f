// The component for each type of result. A type without one shows its message and data.
import { type ComponentType, lazy } from 'react';
import type { FieldsOf, ResultType } from '../results';
import { Clarification } from './Clarification';
import { Decomposition } from './Decomposition';
import { DocPage, DocResults } from './Docs';
import { FeatureRequests } from './FeatureRequests';
import { FollowUp, FollowUpList } from './FollowUps';
import { FileContent, FileDeleted, FileList, FileWritten } from './Files';
import { CredentialList, PresetList, TriggerList } from './LibraryLists';
import { NeedLogin } from './NeedLogin';
import { OperationBody } from './Operation';
import { SearchResults } from './Sources';
import { SubSession } from './SubSession';
import { SuggestedGoal } from './SuggestedGoal';
import { Terminal } from './Terminal';
import { TodoList } from './Todos';
import { Understanding } from './Understanding';
import { WebPage } from './WebPage';

/**
 * `input`: the arguments of the call; `active`: it is the end of the conversation, so its form can still be submitted;
 * `reply`: what the person said after it, if anything.
 */
export type BodyProps<Type extends ResultType = never> = {
  result: FieldsOf<Type>;
  input: unknown;
  call: string;
  active: boolean;
  reply?: string;
};

const ofAgents = (
  name: 'AgentDetails' | 'AgentList' | 'BlockDetails' | 'BlockList' | 'InputProblems' | 'ValidationResult',
) => lazy(() => import('./Agents').then((module) => ({ default: module[name] })));
const ofBuilt = (name: 'AgentPreview' | 'AgentSaved') =>
  lazy(() => import('./BuiltAgents').then((module) => ({ default: module[name] })));
const ofRuns = (name: 'BlockOutput' | 'ExecutionBody' | 'ReviewBody' | 'ScheduleList' | 'SetupRequirements') =>
  lazy(() => import('./Runs').then((module) => ({ default: module[name] })));

// The compiler refuses a card for a type of result that no tool sends.
const BODIES: Partial<Record<ResultType, ComponentType<BodyProps>>> = {
  agent_details: ofAgents('AgentDetails'),
  agent_output: ofRuns('ExecutionBody'),
  agent_preview: ofBuilt('AgentPreview'),
  agent_saved: ofBuilt('AgentSaved'),
  agents_found: ofAgents('AgentList'),
  bash_exec: Terminal,
  block_details: ofAgents('BlockDetails'),
  block_list: ofAgents('BlockList'),
  block_output: ofRuns('BlockOutput'),
  clarification_needed: Clarification,
  credentials_found: CredentialList,
  doc_page: DocPage,
  doc_search_results: DocResults,
  execution_started: ofRuns('ExecutionBody'),
  feature_request_search: FeatureRequests,
  followup_list: FollowUpList,
  followup_scheduled: FollowUp,
  fix_result: ofAgents('ValidationResult'),
  input_validation_error: ofAgents('InputProblems'),
  need_login: NeedLogin,
  operation_accepted: OperationBody,
  operation_in_progress: OperationBody,
  operation_pending: OperationBody,
  operation_started: OperationBody,
  operation_status: OperationBody,
  preset_list: PresetList,
  preset_saved: PresetList,
  review_required: ofRuns('ReviewBody'),
  schedule_list: ofRuns('ScheduleList'),
  setup_requirements: ofRuns('SetupRequirements'),
  sub_session_status: SubSession,
  suggested_goal: SuggestedGoal,
  task_decomposition: Decomposition,
  todo_list: TodoList,
  trigger_created: TriggerList,
  trigger_list: TriggerList,
  understanding_updated: Understanding,
  validation_result: ofAgents('ValidationResult'),
  web_fetch: WebPage,
  web_search: SearchResults,
  workspace_file_content: FileContent,
  workspace_file_deleted: FileDeleted,
  workspace_file_list: FileList,
  workspace_file_metadata: FileWritten,
  workspace_file_written: FileWritten,
};

export function bodyOf(type: string): ComponentType<BodyProps> | null {
  return BODIES[type as ResultType] ?? null;
}

export const BODY_TYPES = Object.keys(BODIES);
