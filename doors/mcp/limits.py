"""Limits on time, size and count in this package; spans are in seconds."""

from __future__ import annotations

MAX_PARSED_ON_LOOP_BYTES = 16 * 1024  # longer messages are parsed in a thread, one at a time
MAX_MCP_DEPTH = 64  # levels of nesting in a message
MAX_REQUEST_ID_CHARACTERS = 200
MAX_CALL_WAIT_SECONDS = 3600.0  # for a call without a task; what it started goes on afterwards
LOST_RESULT_SECONDS = 600.0  # how long a result that was never fetched answers the same call again
LISTED_PER_PAGE = 200  # tools or prompts
RESOURCES_PER_PAGE = 100
MAX_RECENT_EXECUTIONS = 100  # whose outputs are listed as resources
MAX_RESOURCE_BYTES = 1024 * 1024  # of one read; the rest by ?offset=
MAX_RESULT_CHARACTERS = 400_000  # of the text of a call's result
MAX_ASKED_REVIEWS = 20  # of one task at a time
MAX_REVIEW_DATA_CHARACTERS = 4_000  # of what is to be reviewed, in the question
MAX_INPUT_RESPONSES = 50  # of one request
TASK_POLL_MILLISECONDS = 1_000
REVIEW_POLL_MILLISECONDS = 5_000
LIST_TTL_MILLISECONDS = 60_000  # how long clients may keep a list of tools or resources
SESSION_ID_SECONDS = 30 * 24 * 3600  # of clients that begin with a handshake
SILENT_CALL_SECONDS = 5.0  # a call that says nothing for longer is answered by a stream
CLIENT_ANSWER_SECONDS = 600  # for an answer of the person to a question on the stream of a call
CALL_STATE_SECONDS = 7 * 24 * 3600  # how long a question may be answered by repeating the call
