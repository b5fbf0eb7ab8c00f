"""Limits on time, size and count in this package; spans are in seconds."""

from __future__ import annotations

# --- event log and delivery ------------------------------------------------------------------------
TICKET_SECONDS = 30
MAX_WAITS_PER_USER = 20  # requests that wait for an answer, such as `?wait=`
WAIT_PLACE_GRACE_SECONDS = 60.0  # the slot of a dead process is freed this long after its wait
WAIT_THREADS = 8  # in which waiting requests of one process look at their rows

# --- accounts --------------------------------------------------------------------------------------
LOGIN_LINK_SECONDS = 15 * 60.0
WRONG_LOGINS_PER_ADDRESS = 20
WRONG_LOGINS_PER_NAME = 100  # from all addresses together: higher, so that locking a user out is not cheap
LOGIN_WINDOW_SECONDS = 15 * 60.0
SIGNUPS_PER_ADDRESS = 20
SIGNUP_FORMS_PER_ADDRESS = 100  # including refused ones, which reveal whether a name is taken
SIGNUP_WINDOW_SECONDS = 3600.0
API_KEY_USE_NOTE_SECONDS = 60.0
MAX_API_KEYS_PER_USER = 50
MAX_KEY_NAMES = 500  # of models or tools that a key may use
MAX_KEY_NAME_CHARACTERS = 200
MAX_USAGE_DAYS = 366
USAGE_DAYS = 30
VISITOR_COOKIE_SECONDS = 365 * 24 * 3600
VISITORS_PER_ADDRESS = 10  # all visitors of an address together may write this many times as much as one
