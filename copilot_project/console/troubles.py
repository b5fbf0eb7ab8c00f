"""What is wrong, in words, each with what to do about it and where."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from copilot_project.console.board import Board, Row, WorkerRow, listing
from copilot_project.console.words import counted, joined, span, wait
from durable import signs_of_life
from durable.models import Pause, WorkerBeat
from llm.retry import Kind

LONG_WAIT_SECONDS = 60
NUMBERS = re.compile(r"(under )?\b\d[\d,.]*( (s|min|h|days)\b)?")
A_FEW = 3  # so many may be late without a word


@dataclass(frozen=True, kw_only=True)
class Trouble:
    """Something is wrong (or, as a note, was made so), what to do, and where."""

    text: str
    todo: str
    url: str = ""
    link: str = "Show"
    is_note: bool = False

    @property
    def key(self) -> str:
        """The same while it is the same trouble, whatever it has come to."""
        return NUMBERS.sub("#", self.text)


def find_troubles(board: Board) -> list[Trouble]:
    """The worst first, notes last."""
    found = [
        *servers(board),
        *unserved_queues(board),
        *stuck(board),
        *silent_workers(board),
        *model(board),
        *parked(board),
        *queues(board),
        *notes(board),
    ]
    return sorted(found, key=lambda trouble: trouble.is_note)


def servers(board: Board) -> Iterator[Trouble]:
    if not board.servers.redis:
        yield Trouble(
            text="Redis does not answer.",
            todo="Have it started, and check REDIS_URL. Work goes on and is kept in the database, but people see "
            "their answers late, and what is wrong with the model, beat and the completions cannot be told.",
        )
    if not board.servers.broker:
        yield Trouble(
            text="The broker does not answer.",
            todo="Have it started, and check CELERY_BROKER_URL. Nothing is lost: workers look into the database "
            "every second and start what they find, only a little later.",
        )
    if not board.servers.beat:
        yield Trouble(
            text="Beat gives no sign of life.",
            todo="Have the role beat started. Until then no schedule starts and nothing old is removed.",
        )
    if not board.servers.completions:
        yield Trouble(
            text="Nobody reads what outside services answer.",
            todo="Have the role completions started. Answers are kept in their stream until somebody reads them.",
        )


def unserved_queues(board: Board) -> Iterator[Trouble]:
    missing = sorted({row.queue for row in board.rows} - served(board))
    if missing:
        plural = len(missing) > 1
        yield Trouble(
            text=f"No worker serves the queue{'s' if plural else ''} {joined(missing)}.",
            todo="Have one started, or let a drained one take up work again. What comes meanwhile is kept and waits.",
            url=listing(WorkerBeat),
            link="Show the workers",
        )


def stuck(board: Board) -> Iterator[Trouble]:
    for row in board.rows:
        if row.stuck.count:
            are, them = ("is", "it") if row.stuck.count == 1 else ("are", "them")
            yield Trouble(
                text=f"{counted(row.stuck.count, row.singular, row.name)} {are} stuck: nobody holds {them}.",
                todo=f"A live worker takes {them} over within seconds; without one, mark {them} failed.",
                url=row.stuck.url,
                link="Show what is stuck",
            )


def silent_workers(board: Board) -> Iterator[Trouble]:
    for worker in board.workers:
        if worker.state == signs_of_life.SILENT:
            yield Trouble(
                text=f"The worker {worker.name} has been silent for {span(worker.quiet_seconds)}.",
                todo=f"It died or lost the database. {others_go_on(board, worker)} Forget it if it is gone for good.",
                url=f"{listing(WorkerBeat)}{worker.pk}/change/",
                link="Show it",
            )


def others_go_on(board: Board, gone: WorkerRow) -> str:
    return "Its jobs go to others." if set(gone.queues) <= served(board) else "Nobody else does its work."


def served(board: Board) -> set[str]:
    """The queues that a live worker looks after."""
    return {
        queue for worker in board.workers if worker.state == signs_of_life.ALIVE for queue in worker.queues
    }


def model(board: Board) -> Iterator[Trouble]:
    failed, asked = board.model.failed_turns, failed_requests(board)
    if failed.count:
        yield Trouble(
            text=f"{counted(failed.count, 'turn')} of the last hour failed because of the model. {asked}".strip(),
            todo="Look at the errors; check key, quota and the provider. When it answers again, requeue these turns.",
            url=failed.url,
            link="Show these turns",
        )
    elif asked:
        yield Trouble(
            text=f"The model stumbled. {asked}",
            todo="No turn is left unanswered by it. If it goes on, check key, quota and the provider.",
            is_note=True,
        )


def failed_requests(board: Board) -> str:
    errors = board.model.errors or {}
    kinds = joined([f"{number:,} {how_it_failed(kind)}" for kind, number in sorted(errors.items())])
    requests = counted(board.model.error_count, "request")
    return f"{requests} to {board.model.name} failed in the last hour: {kinds}." if kinds else ""


def how_it_failed(kind: str) -> str:
    names = {known.name.lower(): known.value for known in Kind}
    return names.get(kind, kind)


def parked(board: Board) -> Iterator[Trouble]:
    if board.parked.count:
        number = counted(board.parked.count, "answer")
        yield Trouble(
            text=f"{number} from outside could not be handled.",
            todo="Read the error; replay once its reason is gone, or drop.",
            url=board.parked.url,
            link="Show the parked entries",
        )


def queues(board: Board) -> Iterator[Trouble]:
    for row in board.rows:
        if row.pause is not None:
            continue
        if is_filling(board, row):
            yield filling(row)
        elif row.oldest_seconds > LONG_WAIT_SECONDS:
            yield waiting_long(row)


def is_filling(board: Board, row: Row) -> bool:
    """More is late than a burst leaves behind: a tenth of what runs, and never just a few."""
    return row.queue in served(board) and row.late > max(A_FEW, row.running.count // 10)


def filling(row: Row) -> Trouble:
    runs = f"{row.running.count:,} run{'s' * (row.running.count == 1)}"
    return Trouble(
        text=f"The queue {row.queue} fills: {counted(row.late, row.singular, row.name)} could start but for a free "
        f"worker, the oldest queued for {wait(row.oldest_seconds)}; {runs}.",
        todo="Add workers of this queue, or let each take more at once. Nothing is lost: each is done in its turn.",
        url=row.queued.url,
        link="Show what waits",
    )


def waiting_long(row: Row) -> Trouble:
    what = counted(row.queued.count, row.singular, row.name)
    return Trouble(
        text=f"{what} queued; the oldest waits for {wait(row.oldest_seconds)}.",
        todo="Add workers, or see whether one person fills the queue.",
        url=row.queued.url,
        link="Show what waits",
    )


def notes(board: Board) -> Iterator[Trouble]:
    for row in board.rows:
        if row.pause is not None:
            why = f" ({row.pause.reason})" if row.pause.reason else ""
            waits = f"{counted(row.queued.count, row.singular, row.name)} wait{'s' * (row.queued.count == 1)}"
            oldest = f", the oldest for {wait(row.oldest_seconds)}" if row.queued.count else ""
            yield Trouble(
                text=f"The queue {row.queue} is paused{why}: {waits}{oldest}.",
                todo="Nothing of it starts until you resume it below.",
                is_note=True,
            )
    if board.paused_people:
        who = counted(board.paused_people, "person", "people")
        yield Trouble(
            text=f"{who} paused.",
            todo="Nothing of theirs starts until resumed.",
            url=listing(Pause, kind__exact=Pause.Kind.USER),
            link="Show the pauses",
            is_note=True,
        )
