"""Limits on time, size and count in this package; spans are in seconds."""

from __future__ import annotations

# --- turns -----------------------------------------------------------------------------------------
MAX_TOOL_WAIT_SECONDS = 300.0
MAX_CLIENT_ID_CHARACTERS = 128

# --- event log and delivery ------------------------------------------------------------------------
MAX_SEARCH_CHARACTERS = 200

# --- agents ----------------------------------------------------------------------------------------
MAX_AGENT_NODES = 2_000  # sub-agents included
MAX_AGENT_LINKS = 10_000
MAX_SUB_AGENTS = 100
MAX_AGENT_BYTES = 4 * 1024 * 1024
MAX_AGENT_TEXT_CHARACTERS = 500_000  # one text on one node
MAX_AGENT_ID_CHARACTERS = 200
MAX_AGENT_NAME_CHARACTERS = 200
MAX_AGENT_DESCRIPTION_CHARACTERS = 20_000
MAX_AGENT_PROBLEMS = 200
MAX_AGENT_VERSION = 1_000_000
MAX_FIX_ROUNDS = 5
MAX_QUERY_CHARACTERS = 100
MAX_SEARCHED_ROWS = 2_000
SEARCH_RESULTS = 20

# --- drafts ----------------------------------------------------------------------------------------
MAX_PINNED_BYTES = 4 * 1024 * 1024  # outputs pinned on one draft, all together
MAX_DRAFT_EDITORS = 50  # tabs of one draft that are remembered
DRAFT_EDITOR_SECONDS = 45.0  # a tab that has not reported for this long has gone

# --- agents in chat --------------------------------------------------------------------------------
MAX_REPAIR_ROUNDS = 3  # by the model, after the safe repairs
MAX_SHOWN_PROBLEMS = 30
MAX_GOAL_CHARACTERS = 8_000
MAX_GOAL_STEPS = 30
MAX_QUESTIONS = 10
GENERATOR_POLL_SECONDS = 5.0  # between two looks at a job of an external generator
GENERATOR_HEALTH_SECONDS = 5.0
MAX_GENERATOR_BYTES = 8 * 1024 * 1024

# --- executions ------------------------------------------------------------------------------------
MAX_RUNNING_EXECUTIONS_PER_AGENT = 25  # of one user; sub-agents are part of their parent's
MAX_HELD_EXECUTIONS_PER_USER = 32  # held by workers, sub-agents included; waiting ones do not count
MAX_LIVE_EXECUTIONS_PER_USER = 5_000
MAX_EXECUTION_SECONDS = 24 * 3600.0  # of work; waiting for a person or a time does not count
MAX_NODE_EXECUTIONS = 100_000
MAX_AGENT_DEPTH = 5
MAX_INPUT_BYTES = 4 * 1024 * 1024  # of one execution, all inputs together
MAX_STORED_VALUE_BYTES = 256 * 1024  # larger ones are stored as a file
MAX_NODE_OUTPUT_BYTES = 64 * 1024 * 1024
MAX_SHOWN_OUTPUT_CHARACTERS = 500  # in live updates
PARALLEL_NODES = 64  # of one execution
NODE_THREADS_PER_USER = 128
NODE_THREAD_IDLE_SECONDS = 10.0
NODE_PATIENCE_SECONDS = 0.005  # if no thread takes a run for this long, the pool gets more threads
NODE_STOP_SECONDS = 1.0  # a block that has not stopped after it is abandoned
EARLY_OUTPUT_SECONDS = 0.05  # outputs of a run that takes longer are passed on before its end
COMMIT_BATCH_SECONDS = 0.006  # how long ends of quick runs are collected for one commit
COMMIT_BATCH_RUNS = 256
EXECUTION_TICK_SECONDS = 1.0
OUTPUTS_GROWTH = (
    1.25  # outputs of a running execution are written again when their number has grown by this factor
)
OUTPUTS_STALE_SECONDS = 30.0  # or after this long
SUB_AGENT_PATIENCE_SECONDS = 2.0  # a parent holds its worker for this long, then it is suspended
INLINE_WAIT_SECONDS = 5.0  # longer waits of a block free the worker
PARKED_LOOK_SECONDS = (
    600.0  # a run that waits for another job checks it this often, in case a wake-up was lost
)
EXECUTION_NEWS_GAP_SECONDS = 0.25
MAX_NEWS_NODES = 50
MAX_SHOWN_NODES = 1_000
EXECUTION_CANCEL_SECONDS = 5.0
MAX_BLOCK_WAIT_SECONDS = MAX_TOOL_WAIT_SECONDS
MAX_LIVE_BLOCK_RUNS_PER_USER = 50  # single blocks, over HTTP
MAX_RUNNING_BLOCK_RUNS_PER_USER = 8
BLOCK_QUEUE_SECONDS = 30.0  # a request waits this much longer than a block may take, for a free worker
BLOCK_RUN_KEEP_SECONDS = 86_400.0  # how long a repeated request is answered from the row

# --- operations ------------------------------------------------------------------------------------
MAX_OPERATION_SECONDS = 3600.0

# --- reviews, schedules, triggers ------------------------------------------------------------------
MAX_REVIEW_NAME_CHARACTERS = 500
MAX_REVIEW_MESSAGE_CHARACTERS = 10_000
MAX_REVIEW_SECONDS = 366 * 86_400.0
MAX_SCHEDULES_PER_USER = 200
SCHEDULE_PATIENCE_SECONDS = 5.0  # a schedule beat has not ticked by then is run by a worker's sweep
MAX_TRIGGERS_PER_USER = 200
MAX_HOOK_BYTES = 1024 * 1024
MAX_HOOK_HEADERS = 60
MAX_HOOK_HEADER_CHARACTERS = 500
HOOK_CALLS_PER_MINUTE = 300  # of one trigger
HOOK_REFUSALS_PER_MINUTE = 10  # that are logged
HOOK_PATIENCE_SECONDS = 5.0  # a stored call that is not started by then is started by a worker's sweep
HOOK_TRIES = 8
HOOK_REPLAY_SECONDS = 86_400.0  # how long the same body counts as the same call, if only the body is signed
HOOK_FIRST_PAUSE_SECONDS = 10.0
HOOK_GRACE_SECONDS = 86_400.0  # of an old secret
MAX_HOOK_GRACE_SECONDS = 7 * 86_400.0
HOOK_LOG_SECONDS = 30 * 86_400.0

# --- credentials -----------------------------------------------------------------------------------
MAX_CREDENTIALS_PER_USER = 200
MAX_SECRET_CHARACTERS = 16_000
MAX_CA_CERTIFICATE_CHARACTERS = 200_000
CREDENTIAL_USE_NOTE_SECONDS = 60.0
OAUTH_SECONDS = 20.0
OAUTH_STATE_SECONDS = 600.0
OAUTH_REFRESH_EARLY_SECONDS = 120.0
OAUTH_REFRESH_HOLD_SECONDS = 30.0
MAX_OAUTH_ANSWER_BYTES = 64 * 1024

# --- requests --------------------------------------------------------------------------------------
MAX_JSON_DEPTH = 100
