// The icon and labels of each tool.
import { number, text } from '../api/looseValues';
import type { IconName } from '../components/icons';
import type { Key, Translate } from '../i18n';
import type { Result } from './call';

type ToolInfo = { icon: IconName; doing: Key; done: Key };

const info = (icon: IconName, name: string): ToolInfo => ({
  icon,
  doing: `tool.${name}.doing` as Key,
  done: `tool.${name}.done` as Key,
});

export const TOOLS: Record<string, ToolInfo> = {
  find_agent: info('store', 'find_agent'),
  find_library_agent: info('agent', 'find_library_agent'),
  find_block: info('block', 'find_block'),
  run_block: info('block', 'run_block'),
  continue_run_block: info('block', 'continue_run_block'),
  run_agent: info('play', 'run_agent'),
  view_agent_output: info('agent', 'view_agent_output'),
  get_agent_building_guide: info('book', 'get_agent_building_guide'),
  create_agent: info('agent', 'create_agent'),
  edit_agent: info('agent', 'edit_agent'),
  customize_agent: info('agent', 'customize_agent'),
  validate_agent_graph: info('check', 'validate_agent_graph'),
  fix_agent_graph: info('graph', 'fix_agent_graph'),
  decompose_goal: info('list', 'decompose_goal'),
  ask_question: info('question', 'ask_question'),
  check_operation_status: info('clock', 'check_operation_status'),
  run_sub_session: info('branch', 'run_sub_session'),
  get_sub_session_result: info('branch', 'get_sub_session_result'),
  list_schedules: info('clock', 'list_schedules'),
  delete_schedule: info('clock', 'delete_schedule'),
  list_workspace_files: info('folder', 'list_workspace_files'),
  read_workspace_file: info('file', 'read_workspace_file'),
  write_workspace_file: info('file', 'write_workspace_file'),
  delete_workspace_file: info('trash', 'delete_workspace_file'),
  web_fetch: info('globe', 'web_fetch'),
  bash_exec: info('terminal', 'bash_exec'),
  search_docs: info('book', 'search_docs'),
  get_doc_page: info('book', 'get_doc_page'),
  add_understanding: info('user', 'add_understanding'),
  search_feature_requests: info('bulb', 'search_feature_requests'),
  create_feature_request: info('bulb', 'create_feature_request'),
  schedule_followup: info('clock', 'schedule_followup'),
  list_followups: info('clock', 'list_followups'),
  cancel_followup: info('clock', 'cancel_followup'),
  update_todo_list: info('list', 'update_todo_list'),
  web_search: info('globe', 'web_search'),
  list_triggers: info('bolt', 'list_triggers'),
  create_trigger: info('bolt', 'create_trigger'),
  list_credentials: info('key', 'list_credentials'),
  list_presets: info('agent', 'list_presets'),
  save_preset: info('agent', 'save_preset'),
  run_preset: info('play', 'run_preset'),
  delete_preset: info('trash', 'delete_preset'),
};

export function iconOf(tool: string): IconName {
  return TOOLS[tool]?.icon ?? 'gear';
}

type Outcome = { icon: IconName; name: Key; asks?: boolean };

// Results with another heading than that of their tool.
const SCHEDULED: Outcome = { icon: 'clock', name: 'outcome.scheduled' };
const OUTCOMES: Record<string, Outcome> = {
  agent_details: { icon: 'agent', name: 'outcome.agent_details' },
  agent_output: { icon: 'agent', name: 'outcome.agent_output' },
  agent_preview: { icon: 'graph', name: 'outcome.agent_preview', asks: true },
  block_details: { icon: 'block', name: 'outcome.block_details' },
  clarification_needed: { icon: 'question', name: 'outcome.clarification_needed', asks: true },
  input_validation_error: { icon: 'warning', name: 'outcome.input_validation_error' },
  need_login: { icon: 'user', name: 'outcome.need_login', asks: true },
  review_required: { icon: 'shield', name: 'outcome.review_required', asks: true },
  setup_requirements: { icon: 'key', name: 'outcome.setup_requirements', asks: true },
  suggested_goal: { icon: 'bulb', name: 'outcome.suggested_goal', asks: true },
  task_decomposition: { icon: 'list', name: 'tool.decompose_goal.done', asks: true },
};
// Types whose body says everything; their message is for the model.
const SPEAKS_FOR_ITSELF = new Set([
  ...Object.keys(OUTCOMES).filter((type) => type !== 'input_validation_error'),
  'agent_building_guide',
  'agent_saved',
  'agents_found',
  'execution_started',
  'operation_accepted',
  'operation_in_progress',
  'operation_pending',
  'operation_started',
  'followup_scheduled',
  'sub_session_status',
  'todo_list',
  'web_search',
  'workspace_file_content',
  'workspace_file_deleted',
  'workspace_file_list',
  'workspace_file_written',
]);
const NOT_DONE = new Set([
  'error',
  'operation_accepted',
  'operation_in_progress',
  'operation_pending',
  'operation_started',
]);
// Tools that build agents: a failed call of one has a heading of its own.
const FAILED_BUILDS: Record<string, Key> = {
  create_agent: 'outcome.create_failed',
  edit_agent: 'outcome.edit_failed',
  customize_agent: 'outcome.customize_failed',
};

/** The heading of a failed build or edit of an agent; null for other tools. */
export function failedBuildOf(tool: string, t: Translate): string | null {
  const known = FAILED_BUILDS[tool];
  return known ? t(known) : null;
}

/** Whether a call did what it was asked to, and what it asked for went wrong: a page that is missing, a command that failed. */
export function wentWrong(result: Result): boolean {
  switch (result.type) {
    case 'web_fetch':
      return (number(result.status_code) ?? 0) >= 400;
    case 'bash_exec':
      return result.timed_out === true || (number(result.exit_code) ?? 0) !== 0;
    case 'sub_session_status':
    case 'operation_status':
      return text(result.status) === 'failed';
    default:
      return false;
  }
}

const WRONG_OUTCOMES: Record<string, Key> = {
  web_fetch: 'outcome.page_failed',
  bash_exec: 'outcome.command_failed',
};

/** The heading of a card with this result. */
export function outcomeOf(
  tool: string,
  result: Result,
  t: Translate,
): { icon: IconName; label: string; asks: boolean; quiet: boolean } {
  const { type, status } = result;
  const known = status === 'SCHEDULED' ? SCHEDULED : OUTCOMES[type];
  const wrong = wentWrong(result) ? WRONG_OUTCOMES[type] : undefined;
  return {
    icon: known?.icon ?? iconOf(tool),
    label: wrong ? t(wrong) : known ? t(known.name) : labelOf(tool, !NOT_DONE.has(type), t),
    asks: known?.asks ?? false,
    quiet: SPEAKS_FOR_ITSELF.has(type),
  };
}

export function labelOf(tool: string, done: boolean, t: Translate): string {
  const known = TOOLS[tool];
  if (known) return t(done ? known.done : known.doing);
  const words = tool.replaceAll('_', ' ');
  return words.charAt(0).toUpperCase() + words.slice(1);
}
