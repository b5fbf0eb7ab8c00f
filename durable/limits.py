"""Limits of jobs, their event log and Redis, and those that several packages share; spans are in seconds."""

from __future__ import annotations

# --- turns -----------------------------------------------------------------------------------------
MAX_TURN_SECONDS = 3600.0
MAX_ATTEMPTS = 5
CLAIM_TRIES = 5  # per worker process, for a job whose claim fails by its own fault
SUSPECT_CRASHES = 2  # deaths of its worker without progress, after which a job is suspected

# --- jobs ------------------------------------------------------------------------------------------
REPOKE_SECONDS = 3.0
POKE_TIMEOUT_SECONDS = 1.0  # after this the sweep takes over
SWEEP_BATCH = 200
REST_ROUNDS = 4  # of the sweep's loop between two sweeps, while no job is queued, running or due
CONFLICT_TRIES = 5  # of a transaction that lost a conflict
CONFLICT_PAUSE_SECONDS = 0.1  # at most, before the retry
HANDOVER_GRACE_SECONDS = 15.0
WATCHDOG_SECONDS = 10.0
CANARY_QUEUE_SECONDS = 60.0  # lifetime of a dead worker's own queue
THREAD_FREED_SECONDS = 0.01  # between the end of a task and the free thread
BROKER_PAUSE_SECONDS = 3.0  # after a failure, before the next probe
BROKER_DEPTH_SECONDS = 0.5  # how long a known queue length is trusted
MAX_WAITING_POKES = 64  # per queue; beyond that the workers have enough to do
POKE_LIFETIME_SECONDS = 10.0  # the broker drops a poke that was not consumed by then
BACKLOG_SECONDS = 0.2  # between sweeps while more jobs wait than threads were free
MAX_SPARE_CONNECTIONS = 16  # to SQLite, per process
THREADS_PER_CONNECTION = 16  # a transaction takes milliseconds, so few threads need one at once
WORKER_FORGET_SECONDS = 3600.0
OVERDUE_BEATS = 1.5  # heartbeats missed before a worker counts as overdue
TALLY_SPAN_SECONDS = 600.0  # length of a counter's time bucket
TALLY_KEEP_SECONDS = 25 * 3600.0
TALLY_FORGET_SECONDS = 90 * 86_400.0  # lifetime of a total without new counts
HEALTH_FORGET_SECONDS = 7 * 86_400.0  # lifetime of what is known about a service that nobody asks any more

# --- what comes from outside and is stored ---------------------------------------------------------
MAX_VALUE_DEPTH = 300
MAX_KEY_CHARACTERS = 100_000  # per key of a JSON object
MAX_INTEGER_BITS = 4096  # per integer in JSON
MAX_NUMBER_CHARACTERS = 32  # per number sent as text

# --- event log and delivery ------------------------------------------------------------------------
GATHER_SECONDS = 0.004
GATHER_CREDIT = 8  # batches sent at once after a quiet period: the first words of an answer
MAX_LOG_ENTRIES = 20_000
OPEN_PAGE_EVENTS = (
    MAX_LOG_ENTRIES // 4
)  # so many without a commit are stored, before the log in Redis drops them
LOG_PAGE = 1_000
KEEP_ALIVE_SECONDS = 10.0
STATUS_CHECK_SECONDS = 2.0
RARE_STATUS_CHECK_SECONDS = 15.0  # of a request that has waited for a while
REDIS_TIMEOUT_SECONDS = 2.0
REDIS_CONNECTIONS = 16  # per process, besides the writer's and the hub's
REDIS_POOL_SECONDS = 10.0
MAX_MERGED_EVENTS = 64  # small ones in one; without Redis a text must not grow by copying itself for ever
MAX_UNSENT_RINGS = 1_000

# --- executions ------------------------------------------------------------------------------------
NODE_THREADS = 256  # of one worker process

# --- operations ------------------------------------------------------------------------------------
CONSUMER_BATCH = 50
CONSUMER_BLOCK_SECONDS = 1.0  # below REDIS_TIMEOUT_SECONDS: a longer read looks like a dead server
CONSUMER_CLAIM_SECONDS = 60.0
CONSUMER_TRIES = 5
CONSUMER_FIRST_PAUSE_SECONDS = 0.5
CONSUMER_LONGEST_PAUSE_SECONDS = 10.0
CONSUMER_FORGET_SECONDS = 24 * 3600.0
CONSUMER_TRIM_SECONDS = 10.0  # between removals of acknowledged stream entries
CONSUMER_KEEP_SECONDS = 7 * 86_400.0  # entries another group has not read by then are removed anyway

# --- processes -------------------------------------------------------------------
WORKER_FRESH_BEATS = 3
ALIVE_SECONDS = 2.0  # between liveness signals of a process that is not a worker
ALIVE_FRESH_SECONDS = 30.0
STUCK_PART_SECONDS = 60.0  # the same for what runs beside a worker in its process
STUCK_LOOP_SECONDS = 300.0  # without a heartbeat or sweep for this long a worker reports itself as frozen
