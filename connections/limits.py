"""Limits on time, size and count in this package; spans are in seconds."""

from __future__ import annotations

# --- servers ---------------------------------------------------------------------------------------
MAX_SERVERS_PER_USER = 50
MAX_SERVER_URL_CHARACTERS = 2_048
MAX_SERVER_NAME_CHARACTERS = 24  # part of every tool's name, which has 64 characters at most
MAX_SERVER_KEY_CHARACTERS = 8_192
MAX_TOOLS_PER_SERVER = 500
MAX_TOOL_LIST_PAGES = 50
MAX_DEFINITION_CHARACTERS = 64_000
MAX_TOOL_DESCRIPTION_CHARACTERS = 4_000  # of what the model reads
MAX_PINNED_CHARACTERS = 8_000  # of definitions that a new server shows to the model at once
MAX_REPORTED_ERROR_CHARACTERS = 1_000

# --- requests --------------------------------------------------------------------------------------
SERVER_REQUEST_SECONDS = 30.0  # for anything but a call
SERVER_CALL_SECONDS = 570.0  # for the call of a tool, which has ten minutes
MAX_SERVER_ANSWER_BYTES = 16 * 1024 * 1024
MAX_METADATA_BYTES = 256 * 1024  # of an answer about sign-ins
MAX_SERVER_MESSAGES = 10_000  # of one event stream

# --- failures --------------------------------------------------------------------------------------
SERVER_FIRST_PAUSE_SECONDS = 5.0
SERVER_PAUSE_FACTOR = 3.0
SERVER_LONGEST_PAUSE_SECONDS = 3600.0
FREE_SERVER_FAILURES = 1  # after so many in a row it is left alone for a while

# --- tasks -----------------------------------------------------------------------------------------
TASK_POLL_SECONDS = 5.0  # unless the server says otherwise
MIN_TASK_POLL_SECONDS = 1.0
MAX_TASK_POLL_SECONDS = 300.0
MAX_INPUT_ROUNDS = 20  # questions of one call to a person, one after the other
