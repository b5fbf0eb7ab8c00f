"""Limits on time, size and count in this package; spans are in seconds."""

from __future__ import annotations

from boundary.limits import PARSER_CPU_SECONDS, PARSER_GRACE_SECONDS, PARSER_SLOT_SECONDS
from executions.limits import MAX_TOOL_WAIT_SECONDS

# --- turns -----------------------------------------------------------------------------------------
STREAM_IDLE_SECONDS = 2 * MAX_TOOL_WAIT_SECONDS
MAX_MESSAGE_CHARACTERS = 64_000
MAX_SESSION_DEPTH = 3
MAX_BRIEF_CHARACTERS = 300  # of what one tool call of a sub-session came to

# --- event log and delivery ------------------------------------------------------------------------
WARM_UP_SECONDS = 15.0  # at most, for the self-test of the sandbox before the first turns of a worker
LOAD_SECONDS = (
    600.0  # at most, for imports: a loaded machine takes long, and turns must not import beside them
)
WARM_UP_DELAY_SECONDS = 1.0  # before a worker loads what its first turn needs, unless one comes

# --- the outside: requests, pages, sandbox ---------------------------------------------------------
MAX_PARSER_SECONDS = PARSER_SLOT_SECONDS + PARSER_CPU_SECONDS + PARSER_GRACE_SECONDS

# --- tools -----------------------------------------------------------------------------------------
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
TOOL_PRESENCE_SECONDS = 5.0  # how old the knowledge may be that a site has rules or servers at all
READ_FILE_CHARACTERS = 8_000
MAX_WRITTEN_FILE_CHARACTERS = 400_000
MAX_FACTS_PER_TOPIC = 30
WEB_FETCH_SECONDS = 30.0
BASH_SECONDS = 30.0
MAX_BASH_SECONDS = 120.0

# --- agents in chat --------------------------------------------------------------------------------
FOUND_IN_CHAT = 8  # agents or blocks of one answer
MAX_FOLLOW_UP_CHARACTERS = 4_000
MAX_FOLLOW_UP_MINUTES = 366 * 24 * 60
MAX_FOLLOW_UPS_PER_USER = 50  # still to come
MAX_TODOS = 50
MAX_TODO_CHARACTERS = 300
MAX_PRESETS_LISTED = 100
SIMILAR_AGENTS = 3  # of the library, and of the store, that create_agent offers
SIMILAR_AGENT_SCORE = 65.0  # of 100; from here on an agent fits a goal
MAX_BUILDING_PARTS = 20
LISTED_EXECUTIONS = 5

# --- approvals ---
MAX_APPROVAL_SECONDS = 7 * 24 * 3600.0  # after that a question counts as answered with no

# --- operations ------------------------------------------------------------------------------------
MAX_FOLLOWED_SECONDS = 7 * 24 * 3600.0  # for work that goes on elsewhere and is looked at now and then
MAX_OUTSIDE_ANSWER_SECONDS = 24 * 3600.0
MAX_CLIENT_ANSWER_SECONDS = 7 * 24 * 3600.0  # for the result of a tool that a client of the API defined
OPERATION_PROGRESS_GAP_SECONDS = 0.5
OPERATION_CANCEL_SECONDS = 5.0
MAX_COMPLETION_BYTES = 1024 * 1024
