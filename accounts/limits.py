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
OAUTH_CODE_SECONDS = 60.0
OAUTH_ACCESS_SECONDS = 3600.0
OAUTH_REFRESH_SECONDS = 90 * 24 * 3600.0  # since its last use
OAUTH_REPEAT_SECONDS = 60.0  # a refresh token may be sent again this soon, as the answer may have been lost
OAUTH_REGISTRATIONS_PER_ADDRESS = 50
OAUTH_REGISTRATION_WINDOW_SECONDS = 3600.0
OAUTH_DESCRIPTION_SECONDS = 3600.0  # how old a client's description may be before it is fetched again
OAUTH_DESCRIPTION_FETCH_SECONDS = 10.0
MAX_OAUTH_DESCRIPTION_BYTES = 16 * 1024
MAX_OAUTH_REDIRECTS = 20
MAX_OAUTH_REDIRECT_CHARACTERS = 2_000
VISITOR_COOKIE_SECONDS = 365 * 24 * 3600
VISITORS_PER_ADDRESS = 10  # all visitors of an address together may write this many times as much as one
MAX_INSTRUCTIONS_CHARACTERS = 4_000  # of what a person asks of every answer
