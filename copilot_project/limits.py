"""Limits on time, size and count in this package; spans are in seconds."""

from __future__ import annotations

from durable.limits import KEEP_ALIVE_SECONDS

# --- event log and delivery ------------------------------------------------------------------------
SOCKET_STALL_SECONDS = 30.0
SOCKET_CLOSE_SECONDS = 5.0
MAX_UNREAD_FRAMES = 16
MAX_REQUEST_BYTES = 101 * 1024 * 1024  # one file of MAX_FILE_BYTES and its multipart framing
WEB_SWITCH_SECONDS = (
    0.001  # how long the event loop waits for a computing thread; the default of Python is five times longer
)

# --- accounts --------------------------------------------------------------------------------------
WRONG_CODES = 5  # of a second factor, in the same window
RECOVERY_CODES = 10
ADMIN_TOUCH_SECONDS = 60.0  # how often a visit to the admin is recorded

# --- requests --------------------------------------------------------------------------------------
DATABASE_RETRY_SECONDS = 5
REQUESTS_AT_ONCE = 4  # that begin at the same time in one web process; the others wait for their turn
REQUEST_PLACE_SECONDS = 0.1  # after which a slow request lets the next one begin
MAX_REQUEST_THREADS = 1_000

# --- up, doctor, chat ------------------------------------------------------------------------------
UP_READY_SECONDS = 90.0
UI_BUILD_SECONDS = 900.0
WEB_STOP_SECONDS = 8.0
WEB_SHUTDOWN_SECONDS = 5.0  # for requests that are in progress when the process is asked to stop
WORKER_STOP_SECONDS = 20.0
REDIS_STOP_SECONDS = 10.0
READY_PROBE_SECONDS = 0.25
SERVERS_START_SECONDS = 90.0  # for the database and Redis to accept connections before they are migrated
CHECK_SECONDS = 5.0
FIRST_SIGN_SECONDS = 180.0  # for a process to start before the supervisor considers it frozen
EVENT_HEARTBEAT_SECONDS = 10  # between the worker events that Flower counts as alive
PART_RESTART_SECONDS = 2.0  # before a failed part of a worker process starts again
CHAT_CONNECT_SECONDS = 5.0
CHAT_SILENCE_SECONDS = 3 * KEEP_ALIVE_SECONDS
CHAT_RESUME_SECONDS = 120.0
CHAT_LATER_SECONDS = 1.0  # between two looks for an answer that comes by itself
CHAT_WAIT_SECONDS = 3_600.0  # for an answer that comes by itself, where nobody sits at a prompt

# --- retention and backup --------------------------------------------------------------------------
RETENTION_SECONDS = 300.0  # of one run; the rest is deleted the next time
BACKUP_SECONDS = 6 * 3600.0  # of one run of pg_dump or pg_restore

# --- metrics and traces ----------------------------------------------------------------------------
METRICS_SETTLED_SECONDS = 300.0  # older rows are visible to everyone: no transaction lasts that long
METRICS_STEP_SECONDS = 60.0
METRICS_BATCH_ROWS = 20_000
TRACE_SEND_SECONDS = 1.0  # how long spans are buffered; a killed process loses as much
TRACE_EXPORT_SECONDS = 3.0
TRACE_FIRST_PAUSE_SECONDS = 2.0
TRACE_PAUSE_SECONDS = 60.0
