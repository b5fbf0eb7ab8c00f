"""The alerts of the dashboard: what is wrong, what to do about it, and a link."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from copilot_project.ops.console.dashboard import Dashboard, JobKindRow, WorkerRow, listing
from copilot_project.ops.console.formatting import counted, joined, span, wait
from durable import worker_state
from durable.models import Pause, WorkerBeat
from llm.models import ModelEndpoint
from llm.retry import Kind

LONG_WAIT_SECONDS = 60
NUMBERS = re.compile(r"(under )?\b\d[\d,.]*( (s|min|h|days)\b)?")
A_FEW = 3  # this many late jobs raise no alert


@dataclass(frozen=True, kw_only=True)
class Alert:
    """A problem, or as a note something an operator did on purpose, with what to do and a link."""

    text: str
    todo: str
    url: str = ""
    link: str = "Show"
    is_note: bool = False

    @property
    def key(self) -> str:
        """Identify the alert while its numbers change."""
        return NUMBERS.sub("#", self.text)


def find_alerts(board: Dashboard) -> list[Alert]:
    """Return all alerts, the most urgent first and notes last."""
    found = [
        *servers(board),
        *unserved_queues(board),
        *stuck(board),
        *silent_workers(board),
        *model(board),
        *endpoints(board),
        *parked(board),
        *queues(board),
        *notes(board),
    ]
    return sorted(found, key=lambda alert: alert.is_note)


def servers(board: Dashboard) -> Iterator[Alert]:
    if not board.servers.redis:
        yield Alert(
            text="Redis does not answer.",
            todo="Start it, or check REDIS_URL. Work continues and is stored in the database, but answers appear late, "
            "and the state of the model, beat and the completions consumer is unknown.",
        )
    if not board.servers.broker:
        yield Alert(
            text="The broker does not answer.",
            todo="Start it, or check CELERY_BROKER_URL. Nothing is lost: workers check the database every second and "
            "start what they find, a little later than usual.",
        )
    if not board.servers.beat:
        yield Alert(
            text="Beat is not running.",
            todo="Start the role beat. Until then schedules start a few seconds late and nothing old is removed.",
        )
    if not board.servers.completions:
        yield Alert(
            text="No consumer reads the results of external services.",
            todo="Start the role completions. Until then results wait in their stream.",
        )


def unserved_queues(board: Dashboard) -> Iterator[Alert]:
    missing = sorted({row.queue for row in board.rows} - served(board))
    if missing:
        plural = len(missing) > 1
        yield Alert(
            text=f"No worker serves the queue{'s' if plural else ''} {joined(missing)}.",
            todo="Start one, or let a draining one take up work again. Until then new jobs wait in the queue.",
            url=listing(WorkerBeat),
            link="Show the workers",
        )


def stuck(board: Dashboard) -> Iterator[Alert]:
    for row in board.rows:
        if row.stuck.count:
            are, them = ("is", "it") if row.stuck.count == 1 else ("are", "them")
            yield Alert(
                text=f"{counted(row.stuck.count, row.singular, row.name)} {are} stuck: no worker holds {them}.",
                todo=f"A live worker takes {them} over within seconds. If there is none, start one.",
                url=row.stuck.url,
                link="Show the stuck jobs",
            )


def silent_workers(board: Dashboard) -> Iterator[Alert]:
    for worker in board.workers:
        if worker.state == worker_state.SILENT:
            yield Alert(
                text=f"The worker {worker.name} has not sent a heartbeat for {span(worker.quiet_seconds)}.",
                todo=f"It died or lost the database. {who_takes_over(board, worker)} Forget it if it is gone for good.",
                url=f"{listing(WorkerBeat)}{worker.pk}/change/",
                link="Show it",
            )


def who_takes_over(board: Dashboard, gone: WorkerRow) -> str:
    return (
        "Other workers take over its jobs."
        if set(gone.queues) <= served(board)
        else "No other worker does its work."
    )


def served(board: Dashboard) -> set[str]:
    """Return the queues that have a live worker."""
    return {
        queue for worker in board.workers if worker.state == worker_state.ALIVE for queue in worker.queues
    }


def model(board: Dashboard) -> Iterator[Alert]:
    failed, asked = board.model.failed_turns, failed_requests(board)
    if failed.count:
        yield Alert(
            text=f"{counted(failed.count, 'turn')} failed in the last hour because of the model. {asked}".strip(),
            todo="Check the API key, the quota and the provider. When the model answers again, requeue these turns.",
            url=failed.url,
            link="Show these turns",
        )
    elif asked:
        yield Alert(
            text=f"Some requests to the model failed. {asked}",
            todo="Every turn was answered all the same. If this continues, check the key, the quota and the provider.",
            is_note=True,
        )


def endpoints(board: Dashboard) -> Iterator[Alert]:
    for endpoint in board.endpoints:
        if endpoint.state == "failing":
            yield Alert(
                text=f"The model endpoint {endpoint.name} has been failing for {span(endpoint.failing_seconds)}: "
                f"{endpoint.health.error}",
                todo="Requests go to the fallback models, if there are any. Check its key, its quota and its server.",
                url=endpoint.url,
                link="Show it",
            )
    for problem in board.endpoint_problems:
        yield Alert(
            text=problem, todo="Rename or correct it.", url=listing(ModelEndpoint), link="Show the endpoints"
        )


def failed_requests(board: Dashboard) -> str:
    errors = board.model.errors or {}
    kinds = joined([f"{number:,} {how_it_failed(kind)}" for kind, number in sorted(errors.items())])
    requests = counted(board.model.error_count, "request")
    return f"{requests} to {board.model.name} failed in the last hour: {kinds}." if kinds else ""


def how_it_failed(kind: str) -> str:
    names = {known.name.lower(): known.value for known in Kind}
    return names.get(kind, kind)


def parked(board: Dashboard) -> Iterator[Alert]:
    if board.parked.count:
        number = counted(board.parked.count, "result")
        yield Alert(
            text=f"{number} of external services could not be processed.",
            todo="Read the error. Replay the entry when its cause is fixed, or drop it.",
            url=board.parked.url,
            link="Show the parked entries",
        )


def queues(board: Dashboard) -> Iterator[Alert]:
    for row in board.rows:
        if row.pause is not None:
            continue
        if is_filling(board, row):
            yield filling(row)
        elif row.oldest_seconds > LONG_WAIT_SECONDS:
            yield waiting_long(row)


def is_filling(board: Dashboard, row: JobKindRow) -> bool:
    """Return whether more jobs are late than a burst explains: over a tenth of those running, and over a few."""
    return row.queue in served(board) and row.late > max(A_FEW, row.running.count // 10)


def filling(row: JobKindRow) -> Alert:
    runs = f"{row.running.count:,} {'is' if row.running.count == 1 else 'are'} running"
    return Alert(
        text=f"The queue {row.queue} is filling up: {counted(row.late, row.singular, row.name)} could start but no "
        f"worker is free, the oldest queued for {wait(row.oldest_seconds)}; {runs}.",
        todo="Add workers for this queue, or raise their concurrency. Nothing is lost: every job gets its turn.",
        url=row.queued.url,
        link="Show the queued jobs",
    )


def waiting_long(row: JobKindRow) -> Alert:
    what = counted(row.queued.count, row.singular, row.name)
    return Alert(
        text=f"{what} queued; the oldest has waited for {wait(row.oldest_seconds)}.",
        todo="Add workers, or check whether one user fills the queue.",
        url=row.queued.url,
        link="Show the queued jobs",
    )


def notes(board: Dashboard) -> Iterator[Alert]:
    for row in board.rows:
        if row.pause is not None:
            why = f" ({row.pause.reason})" if row.pause.reason else ""
            waits = f"{counted(row.queued.count, row.singular, row.name)} wait{'s' * (row.queued.count == 1)}"
            oldest = f", the oldest for {wait(row.oldest_seconds)}" if row.queued.count else ""
            yield Alert(
                text=f"The queue {row.queue} is paused{why}: {waits}{oldest}.",
                todo="No job of this queue starts until you resume it below.",
                is_note=True,
            )
    if board.paused_people:
        who = counted(board.paused_people, "person", "people")
        yield Alert(
            text=f"{who} paused.",
            todo="None of their jobs start until they are resumed.",
            url=listing(Pause, kind__exact=Pause.Kind.USER),
            link="Show the pauses",
            is_note=True,
        )
