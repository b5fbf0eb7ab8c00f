"""Limits on time, size and count in this package; spans are in seconds."""

from __future__ import annotations

# --- turns -----------------------------------------------------------------------------------------
MAX_RETRY_AFTER_SECONDS = 366 * 86_400.0  # shown to a person; a model server may ask for more
MAX_STEPS_PER_TURN = 50
MAX_ATTACHMENTS = 20
MAX_TITLE_CHARACTERS = 200
MAX_MODEL_NAME_CHARACTERS = 128
STARTS_AT_ONCE = 4  # turns of a process between claim and model request
START_WAITS_SECONDS = 1.0  # for a place among them, after which it starts anyway
END_WAITS_SECONDS = 0.5  # for other turns of the process to ask the model first
MAX_SETTLED_BYTES = 32 * 1024 * 1024  # of conversations kept per process as the model reads them
EXTRA_THREAD_SECONDS = 2.0  # before a waiting turn runs the queued turn it waits for in its own process

# --- jobs ------------------------------------------------------------------------------------------
CANCEL_CONFIRM_SECONDS = 2.0
TITLE_REQUEST_SECONDS = 60.0  # lifetime of the task; the next answer sends another

# --- event log and delivery ------------------------------------------------------------------------
IDLE_NOTICE_SECONDS = (10.0, 30.0, 60.0)
STREAM_PIECE_BYTES = 64 * 1024
MAX_DELTA_CHARACTERS = 32_000  # of one delta: a stalled reader holds no more than a few of them
RESUME_EXCHANGE_SECONDS = 0.5  # between an aborted `resume` and the one that replaces it
MAX_SOCKETS_PER_USER = 20
MAX_FRAME_BYTES = 512 * 1024  # room for MAX_MESSAGE_CHARACTERS in any encoding, and some history
MAX_FRAME_TOKENS = 32_768  # brackets, commas and colons outside of strings: the cost of parsing
MAX_LOOP_FRAME_CHARACTERS = 16 * 1024  # parsed on the event loop; longer frames in a thread, one at a time
SOCKET_BYTES_PER_SECOND = 256 * 1024
SOCKET_BYTES_BURST = 2 * 1024 * 1024
MAX_REQUESTS_PER_SOCKET = 50
SOCKET_FRAMES_PER_SECOND = 50
SOCKET_FRAME_BURST = 200
SOCKET_CHECK_SECONDS = 30.0  # how often the login of an open socket is checked
DELIVERY_THREADS = 32
MAX_CLIENT_KEY_CHARACTERS = 64
MAX_CONTEXT_URL_CHARACTERS = 8_192

# --- operations ------------------------------------------------------------------------------------
MAX_OPERATION_MESSAGE_CHARACTERS = 500

# --- webhooks --------------------------------------------------------------------------------------
MAX_WEBHOOK_TEXT_CHARACTERS = 10_000

# --- requests --------------------------------------------------------------------------------------
PAGE_SIZE = 30
MAX_PAGE_SIZE = 100
FOLLOW_UP_RETRY_SECONDS = 60.0  # when the user has too many turns in flight

# --- badges ----------------------------------------------------------------------------------------
ATTENTION_SESSIONS = 100  # the newest conversations, in which unread answers and questions are counted

# --- search ----------------------------------------------------------------------------------------
MAX_SEARCH_HITS = 30
SNIPPET_CHARACTERS = 160

# --- forks -----------------------------------------------------------------------------------------
MAX_FORKED_TURNS = 5_000
COPY_BATCH = 500

# --- sources and files of an answer ----------------------------------------------------------------
MAX_SOURCES_PER_TURN = 50
MAX_SOURCE_URL_CHARACTERS = 2_000
MAX_SOURCE_TITLE_CHARACTERS = 300
MAX_FILES_MADE_PER_TURN = 50
