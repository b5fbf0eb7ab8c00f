"""The ports of a real run: adapters without database rows are made here, the engine passes in the others."""

from __future__ import annotations

import random
import threading
from datetime import UTC, datetime

from django.conf import settings

from blocks import limits
from blocks.adapters.databases import OutsideDatabases
from blocks.adapters.mail import SmtpMail
from blocks.adapters.model import PlatformModel
from blocks.adapters.search import CorpusSearch, EndpointSearch, NoSearch
from blocks.adapters.transcripts import YouTubeCaptions
from blocks.ports import (
    ClockPort,
    CredentialsPort,
    FilesPort,
    HttpPort,
    ModelPort,
    Ports,
    ReviewPort,
    SearchPort,
    StorePort,
    SubAgentPort,
    ToolboxPort,
    TurnRunner,
)
from boundary.http import OutboundRequest, OutboundResponse, Outside, fetch
from boundary.sandbox import SandboxRequest, SandboxResult, run_in_workdir
from durable.database import outside_wait
from durable.stop_signal import StopSignal


class SystemClock:
    """The machine's clock. Waits in slices; a cancel ends the wait at once."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    @outside_wait()
    def wait_until(self, moment: datetime, cancel: StopSignal) -> None:
        woken = threading.Event()
        remove = cancel.add_callback(woken.set)
        try:
            seconds = (moment - self.now()).total_seconds()
            woken.wait(timeout=min(max(seconds, 0.0), limits.WAIT_SLICE_SECONDS))
        finally:
            remove()


class KeyedRandom:
    """Random numbers seeded by a key, so that a second attempt of a node run picks what the first did."""

    def generator(self, key: str) -> random.Random:
        return random.Random(key)  # noqa: S311 - sampling, not secrets


class GuardedWeb:
    """HTTP through `boundary.http`, which checks, pins and limits every request."""

    def __init__(self, outside: Outside | None = None) -> None:
        self._outside = outside

    def fetch(self, request: OutboundRequest) -> OutboundResponse:
        return fetch(request, self._outside)


class LocalSandbox:
    """Runs each command in a new sandbox on this machine."""

    def run(self, request: SandboxRequest, cancel: StopSignal) -> SandboxResult:
        return run_in_workdir(request, cancel.is_set)


def live_ports(
    *,
    files: FilesPort,
    store: StorePort,
    credentials: CredentialsPort,
    reviews: ReviewPort,
    agents: SubAgentPort,
    turns: TurnRunner,
    tools: ToolboxPort,
    clock: ClockPort | None = None,
    model: ModelPort | None = None,
    http: HttpPort | None = None,
) -> Ports:
    """Return every port of one node run; the engine may replace the clock, the model and the way to the web."""
    web = http or GuardedWeb()
    return Ports(
        model=model or PlatformModel(),
        http=web,
        sandbox=LocalSandbox(),
        files=files,
        clock=clock or SystemClock(),
        random=KeyedRandom(),
        store=store,
        mail=SmtpMail(),
        database=OutsideDatabases(),
        search=make_search(web),
        transcripts=YouTubeCaptions(web),
        credentials=credentials,
        reviews=reviews,
        agents=agents,
        turns=turns,
        tools=tools,
    )


def make_search(web: HttpPort) -> SearchPort:
    """Return a search through the configured endpoint, else the configured corpus, else one that reports neither."""
    if url := getattr(settings, "SEARCH_URL", ""):
        return EndpointSearch(url, web)
    if folder := getattr(settings, "SEARCH_CORPUS", None):
        return CorpusSearch(folder)
    return NoSearch()
