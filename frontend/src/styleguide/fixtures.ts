// One example per kind of card and state. In English only: the page is for developers.
import type { ToolUIPart } from 'ai';
import type { Execution, Review } from '../library/api';
import type { Upload } from '../chat/useUploads';
import type { Entry } from '../messages/pendingEntries';
import type { ChatMessage, Operation, SessionDetail } from '../api/types';

export type Example = { name: string; part: ToolUIPart; live?: boolean };

const NOW = new Date(Date.now() - 40_000).toISOString();
const FILE = {
  file_id: 'f',
  path: 'reports/may.csv',
  reference: 'workspace://0b9c8a5e-1111-4222-8333-444455556666',
  media_type: 'text/csv',
  size: 4213,
};
export const SESSION_ID = 'styleguide-session';
export const RUNNING_SESSION_ID = 'styleguide-session-running';
const EXECUTION_ID = 'styleguide-execution';
const REVIEW_ID = 'styleguide-review';
const OPERATION_ID = 'styleguide-running';
export const AGENT_ID = 'styleguide-agent';

export const GRAPH = {
  nodes: [
    { id: 'in', block_id: 'b-in', input_default: { name: 'person' } },
    { id: 'fill', block_id: 'b-fill', input_default: {} },
    { id: 'ai', block_id: 'b-ai', input_default: {} },
    { id: 'out', block_id: 'b-out', input_default: { name: 'greeting' } },
  ],
  links: [
    { id: '1', source_id: 'in', source_name: 'result', sink_id: 'fill', sink_name: 'values', is_static: true },
    { id: '2', source_id: 'in', source_name: 'result', sink_id: 'ai', sink_name: 'prompt' },
    { id: '3', source_id: 'fill', source_name: 'output', sink_id: 'out', sink_name: 'value' },
    { id: '4', source_id: 'ai', source_name: 'response', sink_id: 'out', sink_name: 'value' },
  ],
};
export const BLOCKS = [
  { id: 'b-in', name: 'Agent Input', description: '', category: 'Input' },
  { id: 'b-fill', name: 'Fill Text Template', description: '', category: 'Text' },
  { id: 'b-ai', name: 'AI Text Generator', description: '', category: 'AI' },
  { id: 'b-out', name: 'Agent Output', description: '', category: 'Output' },
];
const SCHEMA = {
  type: 'object',
  required: ['person'],
  properties: {
    person: { type: 'string', title: 'Person', description: 'Whom to greet.' },
    tone: { enum: ['warm', 'formal'], default: 'warm', title: 'Tone' },
    times: { type: 'integer', title: 'How often', default: 1, advanced: true },
  },
};

let calls = 0;
const call = (tool: string, more: object): ToolUIPart =>
  ({ type: `tool-${tool}`, toolCallId: `call-${++calls}`, input: {}, ...more }) as ToolUIPart;
const done = (tool: string, type: string, message: string, more: object = {}, how = ''): Example => ({
  name: how ? `${type}, ${how}` : type,
  part: call(tool, { state: 'output-available', output: { type, message, ...more } }),
});

export const STATES: Example[] = [
  { name: 'writing the call', live: true, part: call('web_fetch', { state: 'input-streaming' }) },
  { name: 'at work, how far unknown', live: true, part: call('bash_exec', { state: 'input-available' }) },
  {
    name: 'at work, how far told',
    live: true,
    part: call('web_fetch', {
      state: 'output-available',
      preliminary: true,
      output: { progress: 0.62, message: '3 of 5 pages' },
    }),
  },
  {
    name: 'failed, as the model is told',
    part: call('web_fetch', {
      state: 'output-available',
      output: { type: 'error', error: 'blocked_url', message: 'This address is not public.' },
    }),
  },
  {
    name: 'failed without an answer',
    part: call('bash_exec', { state: 'output-error', errorText: 'The call was interrupted; it may have happened.' }),
  },
  {
    name: 'a tool nobody has drawn a card for',
    part: call('weigh_the_moon', { state: 'output-available', output: { type: 'moon', message: 'Heavy.' } }),
  },
];

export const RESULTS: Example[] = [
  done('ask_question', 'clarification_needed', 'Two questions.', {
    questions: [
      { question: 'How often shall it run?', options: ['Every morning', 'Once a week'], keyword: 'when' },
      { question: 'Where shall the result go?', keyword: 'where' },
    ],
  }),
  done('create_agent', 'suggested_goal', 'The goal says too little.', {
    suggested_goal: 'Send me the weather of Porto by e-mail every morning at seven',
    reason: 'It is not clear what “handle my mornings” means.',
  }),
  done('decompose_goal', 'task_decomposition', 'The plan of 3 steps is shown.', {
    goal: 'A weekly report of new issues',
    steps: [
      { description: 'Read the issues of the last seven days', block_name: 'Send Web Request' },
      { description: 'Write a summary', block_name: 'AI Text Summarizer' },
      { description: 'Send it by e-mail', block_name: 'Send Email' },
    ],
    requires_approval: true,
  }),
  done('create_agent', 'agent_saved', 'The agent “Greeter” is saved in the library.', {
    agent_name: 'Greeter',
    library_agent_id: AGENT_ID,
    library_agent_link: '/library',
    version: 1,
    fixes: ['Two blocks lay on each other; they were moved apart.'],
    notes: [],
  }),
  done('create_agent', 'agent_preview', 'This is the agent “Greeter”. It is not saved.', {
    agent_name: 'Greeter',
    description: 'Greets people by name.',
    agent_json: GRAPH,
    fixes: [],
    notes: [],
  }),
  done('find_library_agent', 'agents_found', 'Found 2.', {
    agents: [
      { name: 'Greeter', description: 'Greets people by name.', source: 'library', link: '/library', can_run: true },
      {
        name: 'Weather by mail',
        description: 'The weather of a city, every morning.',
        source: 'store',
        link: '/library/store',
        can_run: false,
      },
    ],
  }),
  done('run_agent', 'agent_details', 'This is what it takes.', {
    agent: { name: 'Greeter', description: 'Greets people by name.', source: 'library', link: '/library' },
    input_schema: SCHEMA,
  }),
  done('run_agent', 'input_validation_error', 'One input does not fit.', {
    problems: { person: 'This input is needed.' },
    input_schema: SCHEMA,
  }),
  done('run_agent', 'setup_requirements', 'The agent needs an account.', {
    name: 'Weather by mail',
    missing_credentials: [
      {
        provider: 'smtp',
        type: 'user_password',
        block: 'Send Email',
        note: 'User name and password of the mail server.',
      },
    ],
  }),
  done('run_agent', 'execution_started', 'The agent was started.', { execution_id: EXECUTION_ID, status: 'COMPLETED' }),
  done(
    'run_agent',
    'execution_started',
    'The agent was started.',
    { execution_id: `${EXECUTION_ID}-RUNNING`, status: 'RUNNING' },
    'running',
  ),
  done(
    'run_agent',
    'execution_started',
    'The agent waits for a person.',
    { execution_id: `${EXECUTION_ID}-REVIEW`, status: 'REVIEW' },
    'waits for a person',
  ),
  done(
    'run_agent',
    'execution_started',
    'The agent was started.',
    { execution_id: `${EXECUTION_ID}-FAILED`, status: 'FAILED' },
    'failed',
  ),
  done(
    'run_agent',
    'execution_started',
    'The agent is scheduled.',
    { status: 'SCHEDULED', agent_name: 'Greeter', library_agent_link: '/library', cron: '0 9 * * *', next_run_at: NOW },
    'scheduled',
  ),
  done('view_agent_output', 'agent_output', 'The agent completed.', {
    agent_name: 'Greeter',
    execution: { execution_id: EXECUTION_ID, status: 'COMPLETED', outputs: { greeting: ['Hello, **Anna**!'] } },
  }),
  done('run_block', 'review_required', 'This block needs your approval.', { review_id: REVIEW_ID }),
  done(
    'run_block',
    'review_required',
    'This block needs your approval.',
    { review_id: `${REVIEW_ID}-approved` },
    'approved',
  ),
  done(
    'run_block',
    'review_required',
    'This block needs your approval.',
    { review_id: `${REVIEW_ID}-rejected` },
    'rejected',
  ),
  done('create_agent', 'operation_started', 'It is being built.', { operation_id: OPERATION_ID }),
  done('create_agent', 'operation_pending', 'create_agent is still running in the background.', {
    operation_id: OPERATION_ID,
  }),
  {
    name: 'failed build',
    part: call('create_agent', {
      state: 'output-error',
      errorText: 'The agent could not be built: it still cannot run.',
    }),
  },
  done('create_agent', 'operation_in_progress', 'It is still being built.', { operation_id: OPERATION_ID }),
  done('create_agent', 'operation_accepted', 'The generator has it.', { operation_id: 'styleguide-waiting' }),
  done('check_operation_status', 'operation_status', 'It failed.', { operation_id: 'styleguide-failed' }),
  done('update_todo_list', 'todo_list', '1 of 3 done.', {
    items: [
      { text: 'Read the three offers', status: 'done' },
      { text: 'Compare their prices', status: 'in_progress' },
      { text: 'Write the summary', status: 'pending' },
    ],
    done: 1,
  }),
  done('web_search', 'web_search', 'Found 2 pages.', {
    query: 'leases',
    results: [
      { title: 'Leases', url: 'https://example.com/leases', snippet: 'A lease is a claim with an end.' },
      { title: 'More about leases', url: 'https://example.org/more', snippet: '' },
    ],
  }),
  done('schedule_followup', 'followup_scheduled', 'Scheduled.', {
    followup: {
      followup_id: '',
      prompt: 'Look whether the offer has come.',
      when: 'Friday, 20 November 2026 at 09:00 (Europe/Berlin)',
      new_session: true,
    },
  }),
  done('list_followups', 'followup_list', '1 follow-up is scheduled.', {
    followups: [{ followup_id: '', prompt: 'Read the news.', when: 'At 09:00 every day (UTC)', new_session: false }],
  }),
  done('list_triggers', 'trigger_list', 'There is 1 trigger.', {
    triggers: [{ name: 'Orders', agent_name: 'Greeter', enabled: false }],
  }),
  done('create_trigger', 'trigger_created', 'The trigger was created. Get its address on the triggers page.', {
    trigger: { name: 'Orders', agent_name: 'Greeter', enabled: true },
  }),
  done('list_credentials', 'credentials_found', 'There is 1 credential.', {
    stored: [{ name: 'Work mail', provider: 'smtp', host: 'mail.example.com' }],
  }),
  done('list_presets', 'preset_list', 'There is 1 preset.', {
    presets: [{ name: 'For Bob', agent_name: 'Greeter', inputs: { name: 'Bob' } }],
  }),
  done('save_preset', 'preset_saved', 'The preset was saved.', {
    preset: { name: 'For Bob', agent_name: 'Greeter', inputs: { name: 'Bob' } },
  }),
  done('read_workspace_file', 'workspace_file_metadata', 'It is not text.', { file: FILE }),
  done('find_block', 'block_list', 'Found 1.', {
    blocks: [
      {
        name: 'Calculator',
        description: 'Works out a sum.',
        category: 'Logic',
        inputs: { a: 'number', b: 'number' },
        outputs: { result: 'number' },
        needs_credentials: null,
      },
    ],
  }),
  done('run_block', 'block_details', 'Calculator takes these inputs.', {
    block: { name: 'Calculator', description: 'Works out a sum.' },
    input_schema: {
      type: 'object',
      required: ['a'],
      properties: { a: { type: 'number' }, b: { type: 'number', default: 1 } },
    },
  }),
  done('run_block', 'block_output', 'The block ran.', { outputs: { result: [5] } }),
  done('validate_agent_graph', 'validation_result', 'One problem.', {
    valid: false,
    errors: [{ message: 'The block “Send Email” has no recipient. Link `to`, or give it a value.' }],
    warnings: [],
  }),
  done('fix_agent_graph', 'fix_result', 'Two problems fixed.', {
    valid: true,
    errors: [],
    fixes: ['Gave an id to a link without one.', 'Moved two blocks apart.'],
  }),
  done('run_sub_session', 'sub_session_status', 'It is done.', {
    sub_session_id: SESSION_ID,
    status: 'completed',
    response: 'I compared the three offers. The second one is the cheapest by 12 %.',
  }),
  done(
    'run_sub_session',
    'sub_session_status',
    'It runs.',
    { sub_session_id: RUNNING_SESSION_ID, status: 'running' },
    'running',
  ),
  done(
    'run_sub_session',
    'sub_session_status',
    'It failed.',
    { sub_session_id: SESSION_ID, status: 'failed', error: 'The model server answered 503 three times.' },
    'failed',
  ),
  done(
    'get_sub_session_result',
    'sub_session_status',
    'It was cancelled.',
    { sub_session_id: SESSION_ID, status: 'cancelled', response: 'I compared the first two' },
    'cancelled',
  ),
  done('list_schedules', 'schedule_list', '1 schedule.', {
    schedules: [{ name: 'Morning weather', when: 'at 07:00 every day', enabled: true }],
  }),
  done('write_workspace_file', 'workspace_file_written', 'Saved as reports/may.csv.', { file: FILE }),
  done('list_workspace_files', 'workspace_file_list', '2 files.', {
    files: [FILE, { ...FILE, path: 'notes.txt', media_type: 'text/plain', size: 120 }],
  }),
  done('read_workspace_file', 'workspace_file_content', 'Bytes 0 to 28 of 28.', {
    file: FILE,
    content: 'day,visits\n2026-05-01,412',
  }),
  done('delete_workspace_file', 'workspace_file_deleted', 'Deleted notes.txt.', {
    file: { ...FILE, path: 'notes.txt' },
  }),
  done('web_fetch', 'web_fetch', 'Fetched.', {
    url: 'https://example.com/',
    status_code: 200,
    title: 'Example Domain',
    content: 'This domain is for use in examples.',
  }),
  done('bash_exec', 'bash_exec', 'It ran.', {
    exit_code: 0,
    stdout: 'total 2\n-rw-r--r-- 1 box box 412 may.csv',
    stderr: '',
    files: [FILE],
    files_left_out: [],
  }),
  done('search_docs', 'doc_search_results', 'Found 1 section.', {
    results: [
      {
        title: 'Running it',
        section: 'Ports',
        path: 'reference/local-stack.md#ports',
        snippet: 'The web server listens on PORT, 8000 unless said otherwise.',
      },
    ],
  }),
  done('get_doc_page', 'doc_page', 'The whole text.', { title: 'Ports', content: 'The web server listens on `PORT`.' }),
  done('add_understanding', 'understanding_updated', 'Remembered.', {
    updated_fields: ['business_name'],
    current_understanding: { business_name: 'Shoes of Porto', software: ['Excel', 'Shopify'] },
  }),
  done('search_feature_requests', 'feature_request_search', 'Found 1.', {
    results: [{ title: 'Dark mode for exports', description: 'Exports are white even at night.', supporters: 3 }],
  }),
  done('find_agent', 'no_results', 'Nothing was found.', { suggestions: ['Create one with create_agent.'] }),
  done('list_workspace_files', 'need_login', 'This needs an account.'),
];

const operation = (status: Operation['status'], more: Partial<Operation> = {}): Operation => ({
  id: `styleguide-${status}`,
  session_id: SESSION_ID,
  tool_name: 'create_agent',
  status,
  progress: 0,
  message: '',
  result: null,
  error: null,
  queued_at: NOW,
  ...more,
});

export const OPERATIONS: Operation[] = [
  operation('queued'),
  operation('running', { message: 'Choosing blocks' }),
  operation('running', { id: 'styleguide-told', progress: 0.45, message: 'Checking the graph' }),
  operation('waiting', { message: 'The outside generator has it.' }),
  operation('completed', { progress: 1, message: 'The agent is saved.' }),
  operation('failed', { error: 'The generator did not answer.' }),
  operation('cancelled', { error: 'The operation was cancelled.' }),
];

const EXECUTION: Execution = {
  id: EXECUTION_ID,
  agent_id: AGENT_ID,
  agent_name: 'Greeter',
  version: 1,
  status: 'COMPLETED',
  rejected: false,
  agent_removed: false,
  inputs: { person: 'Anna' },
  outputs: { greeting: ['Hello, **Anna**!'] },
  error: null,
  cost: '0',
  source: 'chat',
  queued_at: NOW,
  started_at: NOW,
  ended_at: NOW,
};

const ended = (status: Execution['status'], more: Partial<Execution>): Execution => ({
  ...EXECUTION,
  id: `${EXECUTION_ID}-${status}`,
  status,
  outputs: {},
  ...more,
});
export const EXECUTIONS: Execution[] = [
  EXECUTION,
  ended('RUNNING', { ended_at: null }),
  ended('REVIEW', { ended_at: null }),
  ended('FAILED', { error: 'The block “Send Email” failed: the mail server refused the password.' }),
];

export const REVIEW: Review = {
  id: REVIEW_ID,
  name: 'Send this e-mail to 240 people?',
  data: { subject: 'Our summer sale', body: 'Everything must go.' },
  editable: true,
  outside_sources: [],
  tool_name: '',
  state: 'waiting',
  execution_id: null,
  agent_name: null,
  session_id: null,
  asked_at: NOW,
  expires_at: null,
  message: '',
};

export const REVIEWS: Review[] = [
  REVIEW,
  { ...REVIEW, id: `${REVIEW_ID}-approved`, state: 'approved', message: 'Only to those who asked for it.' },
  { ...REVIEW, id: `${REVIEW_ID}-rejected`, state: 'rejected' },
];

export const SESSION: SessionDetail = {
  id: SESSION_ID,
  title: 'Compare three offers',
  status: 'idle',
  needs_you: false,
  unread: false,
  model: '',
  pinned: false,
  parent: null,
  forked_from: null,
  created_at: NOW,
  active_at: NOW,
  messages: [],
  before: null,
  active_turn: null,
  queued_turns: [],
};

const TEXT = `A paragraph with **bold**, *italic*, \`code\` and a [link](https://example.com).

| block | runs |
|---|---:|
| Calculator | 12 |
| Send Email | 3 |

\`\`\`python
def greet(name: str) -> str:
    return f"Hello, {name}!"  # politely
\`\`\`

1. First things first
2. then the rest

> And a picture from elsewhere, which is not loaded unasked: ![A cat](https://example.com/cat.png)
`;

const answer = (id: string, metadata: ChatMessage['metadata'], parts: ChatMessage['parts']): ChatMessage => ({
  id,
  role: 'assistant',
  metadata,
  parts,
});
const said = (text: string): ChatMessage['parts'] => [{ type: 'text', text, state: 'done' }];

const picture = { type: 'file' as const, mediaType: 'image/png', filename: 'cat.png', url: '/static/site/icon.svg' };
export const UNSEEN: ChatMessage = {
  id: 'unseen',
  role: 'user',
  parts: [picture, { type: 'text', text: 'What is in this picture?' }],
  metadata: {},
};
export const QUESTION: ChatMessage = {
  id: 'question',
  role: 'user',
  parts: [{ type: 'text', text: 'What does an answer look like?' }],
  metadata: {},
};
export const ANSWERS: ChatMessage[] = [
  answer(
    'a1',
    { status: 'completed', created_at: NOW, usage: { input_tokens: 812, output_tokens: 96, cost: '0.0021' } },
    [{ type: 'reasoning', text: 'The person wants to see everything at once.', state: 'done' }, ...said(TEXT)],
  ),
  answer('a2', { status: 'cancelled', end_reason: 'cancelled' }, said('It was going well until')),
  answer(
    'a3',
    {
      status: 'failed',
      end_reason: 'model_error',
      error: 'The model server answered 503 three times. Try again in a moment.',
    },
    said('Let me look at'),
  ),
];

const queued = (key: string, text: string, more: Partial<Entry>): Entry => ({
  key,
  text,
  files: [],
  fileCount: 0,
  mode: 'queue',
  state: 'queued',
  turn: key,
  ...more,
});
export const QUEUED: Entry[] = [
  queued('q1', 'And then the same for June, with a chart', {}),
  queued('q2', 'Only the first three', { mode: 'steer' }),
  queued('q3', 'Stop, another file', { mode: 'interrupt' }),
  queued('q4', 'On its way', { state: 'sending', turn: undefined, clientId: 'q4' }),
  queued('q5', 'Too much for the budget', { state: 'refused', turn: undefined, clientId: 'q5' }),
];

const upload = (name: string, type: string, more: Partial<Upload>): Upload => ({
  key: name,
  name,
  type,
  share: 0,
  stop: new AbortController(),
  ...more,
});
export const UPLOADS: Upload[] = [
  upload('may.csv', 'text/csv', { share: 0.4 }),
  upload('cat.png', 'image/png', {
    share: 1,
    done: {
      id: 'f',
      name: 'cat.png',
      path: 'cat.png',
      media_type: 'image/png',
      size: 812,
      content_url: '/static/site/icon.svg',
    },
  }),
  upload('film.mp4', 'video/mp4', { problem: 'The workspace is full.' }),
];
