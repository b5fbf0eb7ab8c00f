"""Every cap on time, size and count, in one place; spans are in seconds."""

from __future__ import annotations

# --- turns --------------------------------------------------------------------------------------
MODEL_IDLE_SECONDS = 60.0
MAX_TOOL_WAIT_SECONDS = 300.0
STREAM_IDLE_SECONDS = 2 * MAX_TOOL_WAIT_SECONDS
MAX_TURN_SECONDS = 3600.0
MAX_TOLD_PAUSE_SECONDS = 366 * 86_400.0  # of a model server that wants a pause without end
MAX_STEPS_PER_TURN = 50
MAX_ATTEMPTS = 5
CLAIM_TRIES = 5  # of one worker process, for a job whose claim fails for a fault of its own
SUSPECT_CRASHES = 2  # deaths of its worker without a step forward, after which a job may be their cause
MAX_MESSAGE_CHARACTERS = 64_000
MAX_ATTACHMENTS = 20
MAX_CLIENT_ID_CHARACTERS = 128
MAX_TITLE_CHARACTERS = 200
MAX_SESSION_DEPTH = 3
MAX_BRIEF_CHARACTERS = 300  # of what one tool call of a sub-session came to
LEND_PLACE_SECONDS = (
    2.0  # a turn somebody waits for has been in line this long: the waiter's own place is lent to it
)

# --- jobs ---------------------------------------------------------------------------------------
REPOKE_SECONDS = 3.0
POKE_TIMEOUT_SECONDS = 1.0  # a broker that does not answer by then is left to the sweep
SWEEP_BATCH = 200
CONFLICT_TRIES = 5  # of a transaction that PostgreSQL rolled back because of another one
CONFLICT_PAUSE_SECONDS = 0.1  # at most, before it is tried again
HANDOVER_GRACE_SECONDS = 15.0
CANCEL_CONFIRM_SECONDS = 2.0
WATCHDOG_SECONDS = 10.0
CANARY_QUEUE_SECONDS = 60.0  # the queue of a worker that died is gone after it
THREAD_FREED_SECONDS = 0.01  # between the end of a task and the free thread
BROKER_PAUSE_SECONDS = 3.0  # after a failure nothing is sent for so long, then one message to see
BROKER_DEPTH_SECONDS = 0.5  # how long the known length of a queue counts
MAX_WAITING_POKES = 64  # in one queue: with more there the workers have enough to do
TITLE_REQUEST_SECONDS = 60.0  # one that nobody took by then is sent again after the next answer
POKE_LIFETIME_SECONDS = 10.0  # one that nobody took by then is dropped by the broker
BACKLOG_SECONDS = 0.2  # between two sweeps of a worker that knows of more jobs than it had free threads
MAX_SPARE_CONNECTIONS = 16  # to SQLite, of one process
THREADS_PER_CONNECTION = 16  # of the pool: a transaction takes milliseconds, so few of them want one at once
WORKER_FORGET_SECONDS = 3600.0
OVERDUE_BEATS = 1.5  # a worker without a sign of life for so many heartbeats may be about to be called dead
TALLY_SPAN_SECONDS = 600.0  # counts of what leaves no row are kept by spans of so long
TALLY_KEEP_SECONDS = 25 * 3600.0
TALLY_FORGET_SECONDS = 90 * 86_400.0  # that of all time, when nothing was counted for so long

# --- what comes from outside and is stored --------------------------------------------------------
MAX_VALUE_DEPTH = 300
MAX_KEY_CHARACTERS = 100_000  # of one key of a JSON object
MAX_INTEGER_BITS = 4096  # of a whole number in JSON
MAX_NUMBER_CHARACTERS = 32  # of a number that was sent as text

# --- event log and delivery ---------------------------------------------------------------------
GATHER_SECONDS = 0.004
GATHER_CREDIT = 8  # batches that go out at once after a quiet time: the first words of an answer
MAX_LOG_ENTRIES = 20_000
OPEN_PAGE_EVENTS = (
    MAX_LOG_ENTRIES // 4
)  # so many without a commit are stored, before the log in Redis drops them
LOG_PAGE = 1_000
KEEP_ALIVE_SECONDS = 10.0
STATUS_CHECK_SECONDS = 2.0
RARE_STATUS_CHECK_SECONDS = 15.0  # of a request that has waited for a while
SILENCE_NOTES_SECONDS = (10.0, 30.0, 60.0)
REDIS_TIMEOUT_SECONDS = 2.0
REDIS_CONNECTIONS = 16  # of one process, beside the writer's and the hub's own
REDIS_POOL_SECONDS = 10.0
MAX_MERGED_EVENTS = 64  # small ones in one; without Redis a text must not grow by copying itself for ever
MAX_UNSENT_RINGS = 1_000
STREAM_PIECE_BYTES = 64 * 1024
WARM_UP_SECONDS = 15.0  # at most, for the first turns of a worker
MAX_DELTA_CHARACTERS = (
    32_000  # of what is sent at once: a reader that stalls holds no more than a few of them
)
SOCKET_STALL_SECONDS = 30.0
RESUME_EXCHANGE_SECONDS = 0.5
MAX_SOCKETS_PER_USER = 20
MAX_FRAME_BYTES = 512 * 1024  # a message of MAX_MESSAGE_CHARACTERS however it is encoded, with some history
MAX_FRAME_TOKENS = 32_768  # brackets, commas and colons outside of texts: what parsing a frame costs
MAX_LOOP_FRAME_CHARACTERS = (
    16 * 1024
)  # parsed by the event loop itself; longer frames by a thread, one at a time
SOCKET_BYTES_PER_SECOND = 256 * 1024
SOCKET_BYTES_BURST = 2 * 1024 * 1024
MAX_REQUESTS_PER_SOCKET = 50
SOCKET_FRAMES_PER_SECOND = 50
SOCKET_FRAME_BURST = 200
SOCKET_CHECK_SECONDS = 30.0  # how often an open socket asks whether its login still stands
SOCKET_CLOSE_SECONDS = 5.0
MAX_UNHEARD_FRAMES = 16
MAX_REQUEST_BYTES = 101 * 1024 * 1024  # one file of MAX_FILE_BYTES and what is written around it
TICKET_SECONDS = 30
DELIVERY_THREADS = 32
WEB_SWITCH_SECONDS = (
    0.001  # how long the event loop waits for a thread that computes; Python waits five times longer
)
MAX_WAITS_PER_USER = 20  # requests that wait for an answer, such as `?wait=`
WAIT_PLACE_GRACE_SECONDS = 60.0  # the place of a process that died is free again so long after its wait
WAIT_THREADS = 8  # in which waiting requests of one process look at their rows
MAX_CLIENT_KEY_CHARACTERS = 64
MAX_CONTEXT_URL_CHARACTERS = 8_192
MAX_SEARCH_CHARACTERS = 200

# --- model --------------------------------------------------------------------------------------
MODEL_CONNECT_SECONDS = 5.0
MODEL_TRIES = 3
MODEL_CUT_TRIES = 2
MODEL_INLINE_RETRY_AFTER_SECONDS = 10.0
MODEL_BACKOFF_SECONDS = 0.5
MODEL_BACKOFF_CAP_SECONDS = 8.0
MODEL_MAX_ANSWER_BYTES = 32 * 1024 * 1024
MODEL_MAX_ANSWER_TOKENS = 10_000_000  # what a server reports beyond is not believed
MODEL_MAX_ANSWER_COST = 10_000  # in USD
MODEL_MAX_RETRY_AFTER_SECONDS = 7 * 86_400.0
MAX_CARRY_CHARACTERS = 1024 * 1024  # what a model wants back with one answer, as JSON in ASCII
MAX_CARRY_DEPTH = 32
MODEL_LIST_SECONDS = 10.0

# --- the outside: requests, pages, sandbox ------------------------------------------------------
FETCH_SECONDS = 20.0
MAX_FETCH_SECONDS = 300.0
CONNECT_SECONDS = 10.0
RESOLVE_SECONDS = 5.0
MAX_FETCH_BYTES = 5 * 1024 * 1024
MAX_SEND_BYTES = 20 * 1024 * 1024
MAX_REDIRECTS = 5
MAX_URL_CHARACTERS = 8_192
MAX_REQUEST_HEADERS = 100
MAX_PAGE_CHARACTERS = 2_000_000
MAX_PAGE_TITLE_CHARACTERS = 300
MAX_PAGE_DEPTH = 256  # elements within elements; what is nested deeper is left out
PARSER_CPU_SECONDS = 5.0
PARSER_GRACE_SECONDS = 5.0  # a busy machine gives a process its processor time late
PARSER_MEMORY_BYTES = 768 * 1024 * 1024
PARSER_SLOT_SECONDS = 10.0
PARSERS_AT_ONCE = 4  # of one process
PARSERS_PER_USER = 2  # of those
MAX_PARSER_SECONDS = PARSER_SLOT_SECONDS + PARSER_CPU_SECONDS + PARSER_GRACE_SECONDS
MAX_PARSED_BYTES = 32 * 1024 * 1024  # of what a parser answers
SANDBOX_SECONDS = 30.0
MAX_SANDBOX_SECONDS = 300.0
SANDBOX_OUTPUT_BYTES = 64 * 1024
SANDBOX_STDIN_BYTES = 1024 * 1024
SANDBOX_MEMORY_BYTES = 1024**3
SANDBOX_FILE_BYTES = 64 * 1024 * 1024
SANDBOX_DISK_BYTES = 256 * 1024 * 1024
SANDBOX_TMP_BYTES = 64 * 1024 * 1024
SANDBOX_DISK_ENTRIES = 20_000
SANDBOX_PROCESSES = 64
SANDBOX_OPEN_FILES = 128
SANDBOX_SLOTS = 64
SANDBOX_SLOTS_PER_USER = 8
SANDBOX_SLOT_WAIT_SECONDS = 30.0
SANDBOX_TICK_SECONDS = 0.05
SANDBOX_CPU_GRACE_SECONDS = 5
SANDBOX_START_SECONDS = 2.0  # for bubblewrap to name the first process of a box, and to end after it
SANDBOX_KILL_SECONDS = 5.0
SANDBOX_TEST_SECONDS = 60.0  # for the whole self-test; one that takes longer counts as lost
SANDBOX_RETRY_SECONDS = 30.0  # from a self-test that failed to the next
STALE_BOX_SECONDS = 3600.0
MAX_COLLECTED_FILES = 100
MAX_COLLECTED_BYTES = 64 * 1024 * 1024

# --- workspace ----------------------------------------------------------------------------------
MAX_FILE_BYTES = 100 * 1024 * 1024
MAX_WORKSPACE_BYTES = 1024**3
MAX_WORKSPACE_FILES = 10_000
MAX_PATH_CHARACTERS = 400
MAX_NAME_CHARACTERS = 120
MAX_NAME_BYTES = 240
MAX_PATH_DEPTH = 12
MAX_FILES_PAGE = 200
FILES_PAGE = 50
LOOSE_BLOB_SECONDS = 24 * 3600.0
PURGE_BATCH = 500
MAX_REFERENCES = 100
MAX_IMAGE_FILE_BYTES = 50 * 1024 * 1024
MAX_IMAGE_PIXELS = 50_000_000
IMAGE_CPU_SECONDS = 20.0  # to decode the largest one and to encode it again
MAX_IMAGE_EDGE = 2_048
MAX_IMAGE_BYTES = 4 * 1024 * 1024
MAX_IMAGES_PER_REQUEST = 10
MAX_IMAGES_TOTAL_BYTES = 16 * 1024 * 1024
MAX_DATA_URIS = 100
MAX_ARCHIVE_FILES = 1_000
MAX_ARCHIVE_BYTES = 200 * 1024 * 1024
MAX_UPLOAD_REQUEST_BYTES = MAX_FILE_BYTES + 1024 * 1024

# --- tools --------------------------------------------------------------------------------------
TOOL_SECONDS = 60.0
TOOL_CANCEL_GRACE_SECONDS = 1.0
TOOL_CANCEL_CHECK_SECONDS = 1.0
TOOL_PROGRESS_GAP_SECONDS = 0.2
MAX_CALLS_PER_STEP = 32
MAX_CALL_ID_CHARACTERS = 128
MAX_TOOL_ARGUMENT_CHARACTERS = 512 * 1024
MAX_TOOL_ARGUMENT_DEPTH = 100
MAX_TOOL_SCHEMA_CHARACTERS = 32_000
MAX_REPORTED_ARGUMENT_ERRORS = 10
MAX_OUTPUT_TEXT_CHARACTERS = 10_000
MAX_OUTPUT_CHARACTERS = 40_000
MAX_OUTPUT_NODES = 10_000
MAX_OUTPUT_DEPTH = 50
MAX_OUTPUT_ITEMS = 100
OUTPUT_FIRST_ITEMS = 5
OUTPUT_START_CHARACTERS = 5_000
MAX_KEPT_OUTPUT_BYTES = 100 * 1024 * 1024
MAX_KEPT_DATA_URIS = 50
READ_FILE_CHARACTERS = 8_000
MAX_WRITTEN_FILE_CHARACTERS = 400_000
MAX_FACTS_PER_TOPIC = 30
WEB_FETCH_SECONDS = 30.0
BASH_SECONDS = 30.0
MAX_BASH_SECONDS = 120.0

# --- blocks -------------------------------------------------------------------------------------
NODE_RUN_SECONDS = 1800.0
MAX_COUNTDOWN_SECONDS = 7 * 86_400
COUNTDOWN_NODE_SECONDS = MAX_COUNTDOWN_SECONDS + 60.0
MAX_BLOCK_TEXT_CHARACTERS = 10_000_000
MAX_BLOCK_LIST_ITEMS = 1_000_000
MAX_STEP_THROUGH_ITEMS = 10_000
MAX_STEP_THROUGH_CHARACTERS = 1024 * 1024
MAX_FLATTEN_DEPTH = 1_000
MAX_BLOCK_FILE_BYTES = 10 * 1024 * 1024
MAX_SPREADSHEET_BYTES = 64 * 1024 * 1024
MAX_SPREADSHEET_ROWS = 100_000
MAX_SPREADSHEET_CELLS = 1_000_000  # rows filled up to the width of the header included
MAX_FILE_PIECES = 10_000
MAX_XML_CHARACTERS = 10_000_000
MAX_XML_DEPTH = 200
MAX_XML_TAGS = 200_000  # opening and closing ones
MAX_FEED_BYTES = 10 * 1024 * 1024
MAX_TEMPLATE_CHARACTERS = 256 * 1024
MAX_TEMPLATE_OUTPUT_CHARACTERS = 4_000_000
MAX_TEMPLATE_STEPS = 200_000
MAX_TEMPLATE_RANGE = 10_000
TEMPLATE_SECONDS = 2.0
TEMPLATE_MEMORY_BYTES = 512 * 1024 * 1024
REGEX_SECONDS = 5.0
MAX_REGEX_CHARACTERS = 10_000
MAX_REGEX_EXPANSION = 100_000
MAX_REGEX_TEXT_CHARACTERS = 1_000_000
MAX_REGEX_MATCHES = 1_000
MAX_REGEX_MATCH_CHARACTERS = 10_000
MAX_VARIABLES_BYTES = 64 * 1024
MAX_CODE_SECONDS = 300.0
SMTP_SECONDS = 30.0
SQLITE_MEMORY_BYTES = 512 * 1024 * 1024
MAX_SUMMARY_CHARACTERS = 1_000_000
MAX_SUMMARY_CHUNKS = 100
MAX_ORCHESTRATOR_ROUNDS = 50
WAIT_SLICE_SECONDS = 60.0

# --- agents -------------------------------------------------------------------------------------
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

# --- agents in chat -------------------------------------------------------------------------------
FOUND_IN_CHAT = 8  # agents or blocks of one answer
MAX_REPAIR_ROUNDS = 3  # by the model, after the safe repairs
MAX_SHOWN_PROBLEMS = 30
MAX_GOAL_CHARACTERS = 8_000
MAX_GOAL_STEPS = 30
MAX_QUESTIONS = 10
MAX_BUILDING_PARTS = 20
LISTED_EXECUTIONS = 5
MAX_GENERATOR_BYTES = 8 * 1024 * 1024

# --- executions -----------------------------------------------------------------------------------
MAX_RUNNING_EXECUTIONS_PER_AGENT = 25  # of one user; sub-agents are part of their parent's
MAX_HELD_EXECUTIONS_PER_USER = 32  # that workers are at, sub-agents included; what only waits is not held
MAX_LIVE_EXECUTIONS_PER_USER = 5_000
MAX_EXECUTION_SECONDS = 24 * 3600.0  # of work; waiting for a person or a time does not count
MAX_NODE_EXECUTIONS = 100_000
MAX_AGENT_DEPTH = 5
MAX_INPUT_BYTES = 4 * 1024 * 1024  # of one execution, all inputs together
MAX_STORED_VALUE_BYTES = 256 * 1024  # larger ones are kept as a file
MAX_NODE_OUTPUT_BYTES = 64 * 1024 * 1024
MAX_SHOWN_OUTPUT_CHARACTERS = 500  # in live news
PARALLEL_NODES = 64  # of one execution
NODE_THREADS = 256  # of one worker process
NODE_THREADS_PER_USER = 128
NODE_THREAD_IDLE_SECONDS = 10.0
NODE_PATIENCE_SECONDS = 0.005  # a run that no thread takes for so long gets more threads
NODE_STOP_SECONDS = 1.0  # a block that does not listen is left behind after it
EARLY_OUTPUT_SECONDS = 0.05  # outputs of a run that takes longer are passed on before its end
WAVE_SECONDS = 0.006  # ends of quick runs are gathered for so long before they are committed
WAVE_RUNS = 256
EXECUTION_TICK_SECONDS = 1.0
OUTPUTS_GROWTH = 1.25  # outputs of a running execution are written again once there are so many times as many
OUTPUTS_STALE_SECONDS = 30.0  # or after so long
SUB_AGENT_PATIENCE_SECONDS = 2.0  # a parent waits so long with its worker, then without
INLINE_WAIT_SECONDS = 5.0  # longer waits of a block free the worker
PARKED_LOOK_SECONDS = 600.0  # what waits for another job looks for itself, should its call have been lost
EXECUTION_NEWS_GAP_SECONDS = 0.25
MAX_NEWS_NODES = 50
MAX_SHOWN_NODES = 1_000
EXECUTION_CANCEL_SECONDS = 5.0
MAX_BLOCK_WAIT_SECONDS = MAX_TOOL_WAIT_SECONDS
MAX_LIVE_BLOCK_RUNS_PER_USER = 50  # blocks by themselves, over HTTP
MAX_RUNNING_BLOCK_RUNS_PER_USER = 8
BLOCK_QUEUE_SECONDS = 30.0  # a request waits so much longer than a block may take, for a worker to be free
BLOCK_RUN_KEEP_SECONDS = 86_400.0  # the same sent again is answered from the row for so long

# --- operations ---------------------------------------------------------------------------------
MAX_OPERATION_SECONDS = 3600.0
MAX_OUTSIDE_ANSWER_SECONDS = 24 * 3600.0
OPERATION_PROGRESS_GAP_SECONDS = 0.5
OPERATION_CANCEL_SECONDS = 5.0
MAX_OPERATION_MESSAGE_CHARACTERS = 500
MAX_COMPLETION_BYTES = 1024 * 1024
CONSUMER_BATCH = 50
CONSUMER_BLOCK_SECONDS = (
    1.0  # less than REDIS_TIMEOUT_SECONDS: a read that waits longer looks like a dead server
)
CONSUMER_CLAIM_SECONDS = 60.0
CONSUMER_TRIES = 5
CONSUMER_FIRST_PAUSE_SECONDS = 0.5
CONSUMER_LONGEST_PAUSE_SECONDS = 10.0
CONSUMER_FORGET_SECONDS = 24 * 3600.0
CONSUMER_TRIM_SECONDS = 10.0  # how often acknowledged entries are removed from a stream
CONSUMER_KEEP_SECONDS = 7 * 86_400.0  # what another group has not read by then is removed all the same

# --- webhooks -----------------------------------------------------------------------------------
MAX_WEBHOOKS_PER_USER = 10
MAX_WEBHOOK_URL_CHARACTERS = 2_048
MAX_WEBHOOK_BYTES = 64 * 1024
MAX_WEBHOOK_TEXT_CHARACTERS = 10_000
MAX_WEBHOOK_ANSWER_BYTES = 16 * 1024
WEBHOOK_EXCERPT_CHARACTERS = 300
WEBHOOK_SECONDS = 15.0
WEBHOOKS_AT_ONCE_PER_USER = 3
WEBHOOK_TRIES = 10
WEBHOOK_FIRST_PAUSE_SECONDS = 5.0
WEBHOOK_PAUSE_FACTOR = 4.0
WEBHOOK_LONGEST_PAUSE_SECONDS = 8 * 3600.0
WEBHOOK_JITTER = 0.2
WEBHOOK_DISABLE_SECONDS = 5 * 86_400.0
WEBHOOK_OLD_SECRET_SECONDS = 86_400.0
WEBHOOK_LOG_SECONDS = 30 * 86_400.0
WEBHOOK_TESTS_PER_MINUTE = 20

# --- reviews, schedules, triggers ---------------------------------------------------------------
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
HOOK_REFUSALS_PER_MINUTE = 10  # that are written down
HOOK_PATIENCE_SECONDS = 5.0  # a stored call that is not started by then is started by a worker's sweep
HOOK_TRIES = 8
HOOK_REPLAY_SECONDS = (
    86_400.0  # the same body under a signature of the body alone is the same call for so long
)
HOOK_FIRST_PAUSE_SECONDS = 10.0
HOOK_GRACE_SECONDS = 86_400.0  # of an old secret
MAX_HOOK_GRACE_SECONDS = 7 * 86_400.0
HOOK_LOG_SECONDS = 30 * 86_400.0

# --- credentials --------------------------------------------------------------------------------
MAX_CREDENTIALS_PER_USER = 200
MAX_SECRET_CHARACTERS = 16_000
MAX_CA_CERTIFICATE_CHARACTERS = 200_000
CREDENTIAL_USE_NOTE_SECONDS = 60.0
OAUTH_SECONDS = 20.0
OAUTH_STATE_SECONDS = 600.0
OAUTH_REFRESH_EARLY_SECONDS = 120.0
OAUTH_REFRESH_HOLD_SECONDS = 30.0
MAX_OAUTH_ANSWER_BYTES = 64 * 1024

# --- accounts -----------------------------------------------------------------------------------
LOGIN_LINK_SECONDS = 15 * 60.0
WRONG_LOGINS_PER_ADDRESS = 20
WRONG_LOGINS_PER_NAME = (
    100  # from all addresses together: higher, so that a stranger cannot lock a person out cheaply
)
LOGIN_WINDOW_SECONDS = 15 * 60.0
WRONG_CODES = 5  # of a second factor, in the same window
RECOVERY_CODES = 10
ADMIN_TOUCH_SECONDS = 60.0  # how often a visit to the admin is noted
SIGNUPS_PER_ADDRESS = 20
SIGNUP_FORMS_PER_ADDRESS = 100  # also those that are refused: each tells whether a name is taken
SIGNUP_WINDOW_SECONDS = 3600.0
API_KEY_USE_NOTE_SECONDS = 60.0
MAX_API_KEYS_PER_USER = 50
MAX_USAGE_DAYS = 366
USAGE_DAYS = 30
VISITOR_COOKIE_SECONDS = 365 * 24 * 3600
VISITORS_PER_ADDRESS = 10  # so many times the writes of one are the writes of all visitors of an address

# --- requests -----------------------------------------------------------------------------------
MAX_JSON_DEPTH = 100
PAGE_SIZE = 30
MAX_PAGE_SIZE = 100
DATABASE_RETRY_SECONDS = 5

# --- the house: up, doctor, chat ----------------------------------------------------------------
UP_READY_SECONDS = 90.0
UI_BUILD_SECONDS = 900.0
WEB_STOP_SECONDS = 8.0
WEB_GOODBYE_SECONDS = 5.0  # for requests that are being answered when the process is asked to stop
WORKER_STOP_SECONDS = 20.0
REDIS_STOP_SECONDS = 10.0
READY_PROBE_SECONDS = 0.25
CHECK_SECONDS = 5.0
WORKER_FRESH_BEATS = 3
ALIVE_SECONDS = 2.0  # between two signs of life of a process that is no worker
ALIVE_FRESH_SECONDS = 30.0
FIRST_SIGN_SECONDS = 180.0  # for a process to start before the supervisor takes it for frozen
STUCK_LOOP_SECONDS = (
    300.0  # a worker whose heartbeat or sweep has not turned for so long gives no sign of life
)
CHAT_CONNECT_SECONDS = 5.0
CHAT_SILENCE_SECONDS = 3 * KEEP_ALIVE_SECONDS
CHAT_RESUME_SECONDS = 120.0

# --- keeping house ------------------------------------------------------------------------------
RETENTION_SECONDS = 300.0  # of one run of the broom; the rest goes the next time
BACKUP_SECONDS = 6 * 3600.0  # of one run of the database's own program

# --- watching -----------------------------------------------------------------------------------
METRICS_SETTLED_SECONDS = 300.0  # a row so old is visible to everybody: no transaction lasts as long
METRICS_STEP_SECONDS = 60.0
METRICS_PIECE_ROWS = 20_000
TRACE_SEND_SECONDS = 1.0  # spans are gathered for so long: as much is lost with a process that is killed
TRACE_EXPORT_SECONDS = 3.0
TRACE_FIRST_PAUSE_SECONDS = 2.0
TRACE_PAUSE_SECONDS = 60.0
