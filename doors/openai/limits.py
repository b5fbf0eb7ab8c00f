"""Limits on time, size and count in this package; spans are in seconds."""

from __future__ import annotations

HIDDEN_SESSION_SECONDS = 24 * 3600.0  # how long a conversation without a name is kept after its last message
REPEATED_REQUEST_SECONDS = 24 * 3600.0  # how old the request may be that a client's own retry repeats
MAX_MESSAGES = 2_000  # of one request
MAX_CLIENT_TOOLS = 128
MAX_CLIENT_TOOL_CHARACTERS = 200_000  # descriptions and schemas of all tools of a request
MAX_INSTRUCTION_CHARACTERS = 200_000
MAX_METADATA_PAIRS = 16
MAX_METADATA_KEY_CHARACTERS = 64
MAX_METADATA_VALUE_CHARACTERS = 512
MAX_IDEMPOTENCY_KEY_CHARACTERS = 255
MAX_EMBEDDING_INPUTS = 2_048
MAX_INPUT_ITEMS = 100  # of one page of input items
SAME_HISTORY_CANDIDATES = 5  # conversations with the same inputs whose last answers are compared
EVENTS_PER_PLACE = 64  # numbers of events that one place of a turn's log may become
MAX_AGENT_WAIT_SECONDS = 3600.0  # for an agent that answers a request; its execution goes on afterwards
MAX_SHOWN_REVIEWS = 5
MAX_LOOP_BODY_BYTES = 16 * 1024  # parsed on the event loop; longer bodies in a thread, one at a time
