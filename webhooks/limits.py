"""Limits on time, size and count in this package; spans are in seconds."""

from __future__ import annotations

# --- webhooks --------------------------------------------------------------------------------------
MAX_WEBHOOKS_PER_USER = 10
MAX_WEBHOOK_URL_CHARACTERS = 2_048
MAX_WEBHOOK_BYTES = 64 * 1024
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

# --- push ------------------------------------------------------------------------------------------
MAX_PUSH_SUBSCRIPTIONS_PER_USER = 20
MAX_PUSH_ENDPOINT_CHARACTERS = 2_048
MAX_PUSH_KEY_CHARACTERS = 200
PUSH_SECONDS = 15.0
MAX_PUSH_ANSWER_BYTES = 4 * 1024
PUSH_GRACE_SECONDS = 6.0  # in which a page that is open may show it instead
PUSH_TTL_SECONDS = 12 * 3600  # for which a push service keeps it for a browser that is away
PUSH_TRIES = 6
PUSH_FIRST_PAUSE_SECONDS = 5.0
PUSH_PAUSE_FACTOR = 4.0
PUSHES_AT_ONCE_PER_USER = 3
MAX_NOTICE_SUBJECT_CHARACTERS = 120
NOTICE_LOG_SECONDS = 7 * 86_400.0
