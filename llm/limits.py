"""Limits on time, size and count in this package; spans are in seconds."""

from __future__ import annotations

# --- turns -----------------------------------------------------------------------------------------
MODEL_IDLE_SECONDS = 60.0

# --- model -----------------------------------------------------------------------------------------
MODEL_CONNECT_SECONDS = 5.0
MODEL_TRIES = 3
MODEL_CUT_TRIES = 2
MODEL_INLINE_RETRY_AFTER_SECONDS = 10.0
MODEL_BACKOFF_SECONDS = 0.5
MODEL_BACKOFF_CAP_SECONDS = 8.0
MODEL_MAX_ANSWER_BYTES = 32 * 1024 * 1024
MODEL_MAX_ANSWER_TOKENS = 10_000_000  # larger reports are ignored as implausible
MODEL_MAX_ANSWER_COST = 10_000  # in USD
MODEL_MAX_RETRY_AFTER_SECONDS = 7 * 86_400.0
MAX_CARRY_CHARACTERS = 1024 * 1024  # what a model wants back with one answer, as JSON in ASCII
MAX_CARRY_DEPTH = 32
MODEL_LIST_SECONDS = 10.0
MODEL_LIST_LOOK_SECONDS = 5.0  # how often a worker looks whether a list of models is due
MODEL_LIST_FRESH_SECONDS = 600.0
MODEL_LIST_AGAIN_SECONDS = 60.0  # after a server that did not answer
MODEL_LIST_KEEP_SECONDS = 7 * 86_400.0
MODEL_LIST_MOST = 200  # models of one endpoint
MODEL_NAME_CHARACTERS = 128  # with the name of its endpoint, as the columns of picks have them
EMBEDDING_SECONDS = 60.0
EMBEDDING_MAX_BYTES = 64 * 1024 * 1024
ENDPOINTS_FRESH_SECONDS = 2.0  # how old what a process knows of the endpoints in the admin may be
HEALTH_NOTE_SECONDS = 5.0  # how often a process reports an endpoint that keeps answering
