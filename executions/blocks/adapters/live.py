"""The ports of a real run: what needs no row of ours is made here, the rest is handed in by the engine."""

from __future__ import annotations

from django.conf import settings

from executions.blocks.adapters.chance import KeyedRandom
from executions.blocks.adapters.clock import SystemClock
from executions.blocks.adapters.databases import OutsideDatabases
from executions.blocks.adapters.mail import SmtpMail
from executions.blocks.adapters.model import PlatformModel
from executions.blocks.adapters.sandbox import LocalSandbox
from executions.blocks.adapters.search import CorpusSearch, EndpointSearch, NoSearch
from executions.blocks.adapters.transcripts import YouTubeCaptions
from executions.blocks.adapters.web import GuardedWeb
from executions.ports import (
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
) -> Ports:
    """Every port of one node run; the clock may be one that parks long waits, the model one that remembers."""
    web = GuardedWeb()
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
    """The operator's endpoint; else the operator's corpus; else a sentence that says what is missing."""
    if url := getattr(settings, "SEARCH_URL", ""):
        return EndpointSearch(url, web)
    if folder := getattr(settings, "SEARCH_CORPUS", None):
        return CorpusSearch(folder)
    return NoSearch()
