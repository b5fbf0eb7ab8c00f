"""In-memory doubles of every port, set up from the world an example describes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from blocks.adapters.live import KeyedRandom
from blocks.context import BlockContext
from blocks.errors import ParkedForReview
from blocks.examples import EMPTY_WORLD, NOON, ExamplePage, World
from blocks.pins import MISSING
from blocks.ports import (
    JSON,
    CopilotAnswer,
    Credential,
    DatabaseAnswer,
    DatabaseQuery,
    Mail,
    PortError,
    Ports,
    ReviewDecision,
    ReviewQuestion,
    SearchHit,
    StoredFile,
    StoreScope,
    SubAgentRun,
    ToolOffer,
    TurnOrder,
)
from boundary.errors import HostNotFound, SandboxUnavailable
from boundary.http import OutboundRequest, OutboundResponse
from boundary.policy import Destination
from boundary.sandbox import SandboxRequest, SandboxResult
from durable.stop_signal import StopSignal
from llm.types import Completion, Request, ToolCallRequest, Usage


@dataclass
class ScriptedModel:
    """Answers with the given replies in order: text, a list of tool calls, or an error to raise."""

    replies: list[Any] = field(default_factory=list)
    requests: list[Request] = field(default_factory=list)

    def complete(self, request: Request, cancel: StopSignal) -> Completion:
        self.requests.append(request)
        if not self.replies:
            raise AssertionError("The model was asked more often than the script says.")
        reply = self.replies.pop(0)
        if isinstance(reply, Exception):
            raise reply
        calls = () if isinstance(reply, str) else tuple(reply)
        return Completion(
            text=reply if isinstance(reply, str) else "",
            reasoning="",
            tool_calls=calls,
            finish_reason="tool_calls" if calls else "stop",
            usage=Usage(input_tokens=10, output_tokens=5),
            model=request.model or "default",
            cost=Decimal("0.001"),
        )


def tool_call(name: str, arguments: str, call_id: str = "call_1") -> ToolCallRequest:
    """A tool call as a model asks for it."""
    return ToolCallRequest(id=call_id, name=name, arguments=arguments)


@dataclass
class ScriptedWeb:
    """Answers from a table of pages; what is not in it does not exist."""

    pages: Mapping[str, ExamplePage] = field(default_factory=dict)
    requests: list[OutboundRequest] = field(default_factory=list)

    def fetch(self, request: OutboundRequest) -> OutboundResponse:
        self.requests.append(request)
        page = self.pages.get(request.url)
        if page is None:
            raise HostNotFound(f"{request.url} could not be found.")
        body = page.body.encode() if isinstance(page.body, str) else page.body
        headers = (("content-type", page.media_type), *page.headers.items())
        return OutboundResponse(status=page.status, url=request.url, headers=headers, body=body)


@dataclass
class ScriptedSandbox:
    """Answers every command with one result; without one there is no sandbox here."""

    result: SandboxResult | Exception | None = None
    requests: list[SandboxRequest] = field(default_factory=list)

    def run(self, request: SandboxRequest, cancel: StopSignal) -> SandboxResult:
        self.requests.append(request)
        if self.result is None:
            raise SandboxUnavailable
        if isinstance(self.result, Exception):
            raise self.result
        return self.result


@dataclass
class MemoryFiles:
    """A workspace in memory; files are found by reference or by name."""

    files: dict[str, StoredFile] = field(default_factory=dict)
    by_key: dict[str, StoredFile] = field(default_factory=dict)

    def save(self, *, name: str, content: bytes, media_type: str, key: str) -> StoredFile:
        if key not in self.by_key:
            reference = f"workspace://file-{len(self.files) + 1}"
            stored = StoredFile(reference=reference, name=name, media_type=media_type, content=content)
            self.files[reference] = self.by_key[key] = stored
        return self.by_key[key]

    def open(self, reference: str) -> StoredFile:
        for stored in self.files.values():
            if reference in (stored.reference, stored.name):
                return stored
        raise PortError(f"There is no file {reference!r} in your workspace.")


@dataclass
class StillClock:
    """Stands still until someone waits, then jumps to the end of the wait."""

    moment: datetime = NOON
    waits: list[timedelta] = field(default_factory=list)

    def now(self) -> datetime:
        return self.moment

    def wait_until(self, moment: datetime, cancel: StopSignal) -> None:
        self.waits.append(moment - self.moment)
        self.moment = max(moment, self.moment)


@dataclass
class MemoryStore:
    """Values by scope and key; the scopes of one test are those of one node."""

    values: dict[tuple[StoreScope, str], JSON] = field(default_factory=dict)

    def get(self, scope: StoreScope, key: str) -> JSON:
        return self.values.get((scope, key), MISSING)

    def put(self, scope: StoreScope, key: str, value: JSON) -> None:
        self.values[scope, key] = value

    def put_if_absent(self, scope: StoreScope, key: str, value: JSON) -> JSON:
        return self.values.setdefault((scope, key), value)


@dataclass
class Outbox:
    """Keeps mail instead of sending it; with `error` set, refuses it."""

    error: str = ""
    sent: list[Mail] = field(default_factory=list)

    def send(self, mail: Mail) -> None:
        if self.error:
            raise PortError(self.error)
        self.sent.append(mail)


@dataclass
class ScriptedDatabase:
    """Answers every statement with one answer."""

    answer: DatabaseAnswer | Exception | None = None
    queries: list[DatabaseQuery] = field(default_factory=list)

    def run(self, query: DatabaseQuery, cancel: StopSignal) -> DatabaseAnswer:
        self.queries.append(query)
        if self.answer is None:
            raise PortError("The database could not be reached.")
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


@dataclass
class FixedSearch:
    """Finds the same hits for every query."""

    hits: Sequence[SearchHit] = ()

    def search(self, query: str) -> Sequence[SearchHit]:
        return self.hits


@dataclass
class FixedTranscripts:
    """Captions by video id."""

    texts: Mapping[str, str] = field(default_factory=dict)

    def transcript(self, video_id: str) -> str:
        if video_id not in self.texts:
            raise PortError(f"The video {video_id} has no captions.")
        return self.texts[video_id]


@dataclass
class FixedCredentials:
    """A handful of credentials."""

    kept: Sequence[Credential] = ()

    def find(
        self, provider: str, *, credentials_id: str = "", destination: Destination | None = None
    ) -> Credential | None:
        if credentials_id:
            return next((one for one in self.kept if one.id == credentials_id), None)
        names = (f"{provider}:{destination.host}", provider) if destination else (provider,)
        return next((one for name in names for one in self.kept if one.provider == name), None)

    def bind(self, credentials_id: str, destination: Destination) -> None:
        """Nothing to bind: each of these is for every server."""


@dataclass
class FixedReviews:
    """A person who always decides the same, or never."""

    decision: ReviewDecision | None = None
    questions: dict[str, ReviewQuestion] = field(default_factory=dict)

    def decide(self, question: ReviewQuestion, key: str) -> ReviewDecision:
        self.questions[key] = question
        if self.decision is None:
            raise ParkedForReview(key)
        return self.decision


@dataclass
class FixedAgents:
    """A child agent that always emits the same."""

    outputs: Sequence[tuple[str, JSON]] = ()
    runs: list[SubAgentRun] = field(default_factory=list)

    def run(self, run: SubAgentRun, cancel: StopSignal) -> Iterator[tuple[str, JSON]]:
        self.runs.append(run)
        if run.agent_id == "missing":
            raise PortError("There is no such agent in your library.")
        yield from self.outputs


@dataclass
class FixedTurns:
    """A copilot that always answers the same."""

    answer: CopilotAnswer | None = None
    orders: list[TurnOrder] = field(default_factory=list)

    def run(self, order: TurnOrder, cancel: StopSignal) -> CopilotAnswer:
        self.orders.append(order)
        if self.answer is None:
            raise PortError("That session is not yours or does not exist.")
        return self.answer


@dataclass
class FixedToolbox:
    """Tools with fixed results; an exception as result is raised."""

    tools: Sequence[ToolOffer] = ()
    results: Mapping[str, JSON] = field(default_factory=dict)
    calls: list[tuple[str, Mapping[str, JSON]]] = field(default_factory=list)

    def offers(self) -> Sequence[ToolOffer]:
        return self.tools

    def call(self, offer: ToolOffer, arguments: Mapping[str, JSON], *, key: str, cancel: StopSignal) -> JSON:
        self.calls.append((offer.name, arguments))
        result = self.results.get(offer.name)
        if isinstance(result, Exception):
            raise result
        return result


def make_ports(world: World = EMPTY_WORLD) -> Ports:
    """Doubles of every port, set up as the world says."""
    files = MemoryFiles()
    for name, content in world.files.items():
        reference = f"workspace://{name}"
        stored = StoredFile(
            reference=reference, name=name, media_type="application/octet-stream", content=content
        )
        files.files[reference] = stored
    stored_values = {_scoped(name): value for name, value in world.stored.items()}
    return Ports(
        model=ScriptedModel(replies=list(world.replies)),
        http=ScriptedWeb(pages=world.pages),
        sandbox=ScriptedSandbox(result=world.sandbox),
        files=files,
        clock=StillClock(moment=world.now),
        random=KeyedRandom(),
        store=MemoryStore(values=stored_values),
        mail=Outbox(error=world.mail_error),
        database=ScriptedDatabase(answer=world.rows),
        search=FixedSearch(hits=world.hits),
        transcripts=FixedTranscripts(texts=world.transcripts),
        credentials=FixedCredentials(kept=world.credentials),
        reviews=FixedReviews(decision=world.decision),
        agents=FixedAgents(outputs=world.child_outputs),
        turns=FixedTurns(answer=world.turn),
        tools=FixedToolbox(tools=world.tools, results=world.tool_results),
    )


def make_context(world: World = EMPTY_WORLD, **changes: Any) -> BlockContext:
    """The context of one node run in that world."""
    context = BlockContext(
        user_id="user-1",
        agent_id="agent-1",
        execution_id="execution-1",
        node_id="node-1",
        node_execution_id="node-execution-1",
        idempotency_key="node-execution-1",
        cancel=StopSignal(),
        ports=make_ports(world),
        timezone=world.timezone,
        from_chat=world.from_chat,
        safe_mode=world.safe_mode,
        recorded_outputs=world.recorded_outputs,
    )
    return replace(context, **changes)


def _scoped(name: str) -> tuple[StoreScope, str]:
    scope, _, key = name.partition("/")
    return StoreScope(scope), key
