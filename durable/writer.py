"""The worker's event writer: one thread and one Redis connection for the events of all its jobs."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from hiredis import pack_command

from durable import event_log, limits
from durable.backoff import Backoff
from durable.emitter import Emitter, UnsealedEvent
from durable.event_log import Position
from durable.per_process import PerProcess
from durable.redis import RedisAway, RedisError, ResponseError, connection

logger = logging.getLogger(__name__)

FIRST_PAUSE_SECONDS = 0.05
LONGEST_PAUSE_SECONDS = 1.0
OLD_ID = "equal or smaller"  # how Redis refuses an entry whose id is not above the newest
Command = tuple[Any, ...]


@dataclass
class Counters:
    """Counters of the writer, for metrics and benchmarks."""

    events: int = 0
    batches: int = 0
    failures: int = 0
    reseeds: int = 0
    fenced: int = 0


class Parcel:
    """The batch for one job's log in one round, and Redis's answers."""

    __slots__ = ("answers", "batch", "emitter", "sent")

    def __init__(self, emitter: Emitter, batch: list[UnsealedEvent]) -> None:
        self.emitter = emitter
        self.batch = batch
        self.sent = batch
        self.answers: Sequence[Any] = ()

    def commands(self, epoch: int) -> list[Command]:
        """Return the commands: one per entry and one announcement. A log new to this connection may lack entries."""
        name = self.emitter.stream
        fresh = self.emitter.epoch != epoch
        if fresh:
            self.sent = self.emitter.with_open(self.batch)
        words = event_log.add(name, create=fresh)
        commands: list[Command] = []
        lines = []
        for pending in self.sent:
            (attempt, seq), (after_attempt, after_seq) = pending.at, pending.after
            at, rest = f"{attempt}-{seq}", f"{after_attempt}-{after_seq} {pending.seal()}"
            commands.append((*words, at, "e", rest))
            lines.append(f"{at} {rest}")
        commands.append(("PUBLISH", name, "\n".join(lines)))
        if fresh:
            commands.append(("EXPIRE", name, life_seconds()))
        return commands

    @property
    def all_taken(self) -> bool:
        """Return whether Redis accepted every entry, the usual case."""
        return all(type(answer) is str for answer in self.answers)

    @property
    def vanished(self) -> bool:
        """Return whether Redis lost the log, so that it accepted nothing."""
        return any(answer is None for answer in self.answers)

    @property
    def refused(self) -> bool:
        """Return whether Redis has a higher id: from an earlier try of this batch, or a newer attempt."""
        last = self.answers[-1] if self.answers else None
        return isinstance(last, ResponseError) and OLD_ID in str(last)

    @property
    def error(self) -> ResponseError | None:
        """Return why Redis could not accept an entry: out of memory, read-only, disk full."""
        for answer in self.answers:
            if isinstance(answer, ResponseError) and OLD_ID not in str(answer):
                return answer
        return None


class Writer:
    """Send at once while it is quiet; under load gather for a few milliseconds and send everything together.

    A new connection may lead to a server that lost its data, or the last second of it. So the first batch of each job
    on a new connection includes all of the job's open events; Redis refuses those it has.
    """

    def __init__(self) -> None:
        self.counters = Counters()
        self._dirty: dict[int, Emitter] = {}
        self._news = threading.Condition(threading.Lock())
        self._connection: Any = None
        self._epoch = 0
        self._backoff = Backoff(FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS)
        self._sent_at = 0.0
        self._credit = 0.0
        self._thread = threading.Thread(target=self._run, name="event-writer", daemon=True)
        self._thread.start()

    def wake(self, emitter: Emitter) -> None:
        if id(emitter) in self._dirty:
            return  # not drained yet, so what it has just taken in goes along
        with self._news:
            if id(emitter) not in self._dirty:
                self._dirty[id(emitter)] = emitter
                if len(self._dirty) == 1:
                    self._news.notify()

    # --- the thread -----------------------------------------------------------------------------

    def _run(self) -> None:
        while True:
            parcels: list[Parcel] = []
            try:
                parcels = [Parcel(emitter, batch) for emitter in self._wait() if (batch := emitter.drain())]
                if parcels:
                    self._deliver(parcels)
            except Exception:  # without this thread every event would be lost silently
                logger.exception("The writer stumbled; the events of this round go out again")
                self._failed(parcels)

    def _wait(self) -> list[Emitter]:
        with self._news:
            while not self._dirty:
                self._news.wait()
            emitters = list(self._dirty.values())
            self._dirty.clear()
            return emitters

    def _deliver(self, parcels: list[Parcel]) -> None:
        try:
            self._send(parcels)
            failed = self._settle(parcels)
        except (RedisError, OSError) as error:
            logger.warning("Redis does not take events now: %s", error)
            failed = parcels
        if failed:
            self._failed(failed)
        else:
            self._backoff.reset()
            self._gather()

    def _gather(self) -> None:
        """Let events gather, unless it was quiet before; each quiet moment earns one immediate batch."""
        now = time.monotonic()
        quiet = (now - self._sent_at) / max(limits.GATHER_SECONDS, 1e-9)
        self._credit = min(self._credit + quiet - 1, float(limits.GATHER_CREDIT))
        self._sent_at = now
        if self._credit < 0:
            self._credit = 0.0
            time.sleep(limits.GATHER_SECONDS)

    def _failed(self, parcels: list[Parcel]) -> None:
        """Requeue everything; the next connection starts from what Redis really has."""
        self.counters.failures += 1
        self._disconnect()
        for parcel in parcels:
            parcel.emitter.restore(parcel.batch)
        time.sleep(self._backoff.next())
        for parcel in parcels:
            self.wake(parcel.emitter)

    # --- one round ------------------------------------------------------------------------------

    def _send(self, parcels: list[Parcel]) -> None:
        """Send everything in one write; store the answers with the parcels."""
        self._connect()
        parts = [self._commands(parcel) for parcel in parcels]
        answers = self._ask([command for commands in parts for command in commands])
        self.counters.batches += 1
        place = 0
        for parcel, commands in zip(parcels, parts, strict=True):
            parcel.answers = answers[place : place + len(parcel.sent)]
            place += len(commands)

    def _commands(self, parcel: Parcel) -> list[Command]:
        try:
            return parcel.commands(self._epoch)
        except Exception:  # one bad event must not block all others
            logger.exception("Events that cannot be written down are left out")
            parcel.sent = []
            return []

    def _settle(self, parcels: list[Parcel]) -> list[Parcel]:
        """Record what was accepted; return the parcels that were not."""
        odd = [parcel for parcel in parcels if not parcel.all_taken]
        tops = self._tops([parcel for parcel in odd if parcel.refused])
        failed = []
        for parcel in odd:
            if parcel.error is not None:
                logger.warning("Redis does not take events now: %s", parcel.error)
                failed.append(parcel)
            elif parcel.vanished:
                self._reseed(parcel)
            elif tops.get(parcel.emitter, 0) > parcel.emitter.attempt:
                self._fence(parcel)
            else:
                self._taken(parcel)
        for parcel in parcels if not odd else [parcel for parcel in parcels if parcel not in odd]:
            self._taken(parcel)
        return failed

    def _taken(self, parcel: Parcel) -> None:
        parcel.emitter.epoch = self._epoch
        self.counters.events += len(parcel.batch)
        parcel.emitter.sent()

    def _tops(self, parcels: list[Parcel]) -> dict[Emitter, int]:
        """Return the newest attempt that wrote to each of these logs or fenced it."""
        answers = self._ask([("XINFO", "STREAM", parcel.emitter.stream) for parcel in parcels])
        return {
            parcel.emitter: Position.parse(facts[facts.index("last-generated-id") + 1]).attempt
            for parcel, facts in zip(parcels, answers, strict=True)
            if isinstance(facts, list)
        }

    def _reseed(self, parcel: Parcel) -> None:
        """Restore the open events of a lost log under their ids; the database has the others."""
        self.counters.reseeds += 1
        parcel.emitter.epoch = 0
        parcel.emitter.restore(parcel.batch)
        self.wake(parcel.emitter)

    def _fence(self, parcel: Parcel) -> None:
        self.counters.fenced += 1
        parcel.emitter.sent()
        parcel.emitter.close()
        try:
            parcel.emitter.on_fenced()
        except Exception:  # the job's own fault; its commits are fenced anyway
            logger.exception("A fenced job could not be notified")

    # --- the connection -------------------------------------------------------------------------

    def _connect(self) -> None:
        """Return a live connection; a new one starts a new epoch."""
        if self._connection is not None:
            try:
                if not self._connection.can_read():
                    return
            except (RedisError, OSError):
                logger.info("The writer's connection was closed")
            self._disconnect()
        made = connection()
        made.connect()
        self._connection = made
        self._epoch += 1

    def _disconnect(self) -> None:
        made, self._connection = self._connection, None
        if made is None:
            return
        try:
            made.disconnect()
        except (RedisError, OSError):
            logger.debug("A broken connection did not close cleanly")

    def _ask(self, commands: list[Command]) -> list[Any]:
        if not commands:
            return []
        if self._connection is None:
            raise RedisAway("The connection was closed")
        packed = b"".join([pack_command(command) for command in commands])
        self._connection.send_packed_command([packed], check_health=False)
        return [self._answer() for _ in commands]

    def _answer(self) -> Any:
        try:
            return self._connection.read_response()
        except ResponseError as error:
            return error


def life_seconds() -> int:
    """Return the time to live of a log, until its job's end or next attempt changes it."""
    return int(limits.MAX_TURN_SECONDS + settings.COPILOT_STREAM_TTL_SECONDS)


writer = PerProcess(Writer)
