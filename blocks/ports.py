"""Ports: the interfaces through which a block reaches the outside world.

A block does no I/O of its own. It calls the ports in its context: the engine supplies adapters (`blocks.adapters`),
tests supply in-memory doubles, and a lower package never imports a higher one.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Protocol

from durable.stop_signal import StopSignal
from llm.types import Completion, Request

if TYPE_CHECKING:  # the HTTP stack is slow to import and only needed for types
    from boundary.http import OutboundRequest, OutboundResponse
    from boundary.policy import Destination
    from boundary.sandbox import SandboxRequest, SandboxResult

JSON = Any


class PortError(Exception):
    """A port could not do what the block asked; the message is for the user."""


# --- model, web, sandbox ------------------------------------------------------------------------


class ModelPort(Protocol):
    """Calls a language model; any model name is mapped to one of the configured endpoint."""

    def complete(self, request: Request, cancel: StopSignal) -> Completion:
        """Return one complete answer; raise `llm.errors.LLMError`."""
        ...


class HttpPort(Protocol):
    """Guarded HTTP: requests to private addresses are refused before a packet is sent."""

    def fetch(self, request: OutboundRequest) -> OutboundResponse:
        """Return the response, whatever its status; raise `boundary.errors.FetchError` if there is none."""
        ...


class SandboxPort(Protocol):
    """Runs untrusted code in isolation."""

    def run(self, request: SandboxRequest, cancel: StopSignal) -> SandboxResult:
        """Run one command in a new folder; raise `boundary.errors.SandboxError` if it could not be run."""
        ...


# --- files --------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class StoredFile:
    """A workspace file; its `reference` is `workspace://id`."""

    reference: str
    name: str
    media_type: str
    content: bytes


class FilesPort(Protocol):
    """The workspace of the current user."""

    def save(self, *, name: str, content: bytes, media_type: str, key: str) -> StoredFile:
        """Store a file once per `key`; raise PortError if the quota is exceeded."""
        ...

    def open(self, reference: str) -> StoredFile:
        """Return a file by `workspace://id` or path; raise PortError if the user has no such file."""
        ...


# --- clock, random numbers, memory ----------------------------------------------------------------------


class ClockPort(Protocol):
    """The clock; tests replace it."""

    def now(self) -> datetime:
        """Return the current time, with a time zone."""
        ...

    def wait_until(self, moment: datetime, cancel: StopSignal) -> None:
        """Wait until `moment` or less: until a cancel, or until limits should be checked. May raise ParkedUntil."""
        ...


class RandomPort(Protocol):
    """Random numbers that are the same in a second attempt of a node run."""

    def generator(self, key: str) -> random.Random:
        """Return a generator seeded by `key`."""
        ...


class StoreScope(StrEnum):
    """The scope of a stored value."""

    ACROSS_AGENTS = "across_agents"  # shared by all agents of the user
    WITHIN_AGENT = "within_agent"  # shared by all executions of this agent
    NODE = "node"  # shared by all runs of this node in this execution
    NODE_EXECUTION = "node_execution"  # of this node run, found again by a second attempt


class StorePort(Protocol):
    """Values that outlive a node run."""

    def get(self, scope: StoreScope, key: str) -> JSON:
        """Return the stored value, or `pins.MISSING`."""
        ...

    def put(self, scope: StoreScope, key: str, value: JSON) -> None:
        """Store the value, replacing an earlier one."""
        ...

    def put_if_absent(self, scope: StoreScope, key: str, value: JSON) -> JSON:
        """Store the value unless there is one; return the stored value."""
        ...


# --- mail, databases, search, captions ----------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Mail:
    """One plain-text message and its mail server; the Message-ID is derived from `key`.

    `ca_certificate` is PEM text to check the server's certificate with instead of the public authorities.
    """

    sender: str
    to: str
    subject: str
    body: str
    server: str
    port: int
    username: str
    password: str = field(repr=False)
    key: str
    ca_certificate: str = ""


class MailPort(Protocol):
    """Sends mail over SMTP."""

    def send(self, mail: Mail) -> None:
        """Send the message; raise PortError with a specific message for each kind of failure."""
        ...


@dataclass(frozen=True, kw_only=True)
class DatabaseQuery:
    """One statement for one database; for SQLite, `content` is the database file.

    `ca_certificate` is PEM text to check the server's certificate with instead of the public authorities.
    """

    kind: str
    host: str = ""
    port: int | None = None
    database: str = ""
    username: str = ""
    password: str = field(default="", repr=False)
    ca_certificate: str = ""
    content: bytes = field(default=b"", repr=False)
    query: str
    read_only: bool
    timeout_seconds: float
    max_rows: int


@dataclass(frozen=True, kw_only=True)
class DatabaseAnswer:
    """The rows of a query; `affected_rows` is set if the statement may write."""

    columns: tuple[str, ...]
    rows: tuple[dict[str, JSON], ...]
    truncated: bool
    affected_rows: int | None = None


class DatabasePort(Protocol):
    """Queries the user's databases."""

    def run(self, query: DatabaseQuery, cancel: StopSignal) -> DatabaseAnswer:
        """Run one statement; raise PortError with secrets masked."""
        ...


@dataclass(frozen=True, kw_only=True)
class SearchHit:
    """One result of a web search."""

    title: str
    url: str
    snippet: str


class SearchPort(Protocol):
    """Searches the web or a local corpus."""

    def search(self, query: str) -> Sequence[SearchHit]:
        """Return the hits, best first; raise PortError."""
        ...


class TranscriptPort(Protocol):
    """Fetches the captions of a video."""

    def transcript(self, video_id: str) -> str:
        """Return the captions, one per line; raise PortError."""
        ...


# --- credentials --------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Credential:
    """A decrypted credential of the user; fields that its kind does not have are empty."""

    id: str
    provider: str
    username: str = ""
    password: str = field(default="", repr=False)
    api_key: str = field(default="", repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    ca_certificate: str = ""  # PEM; used instead of the public authorities


class CredentialUnbound(PortError):
    """The credential is not bound to a server yet, so it may not be sent anywhere."""

    def __init__(self, message: str, *, credentials_id: str, title: str) -> None:
        super().__init__(message)
        self.credentials_id = credentials_id
        self.title = title


class CredentialsPort(Protocol):
    """The user's credentials."""

    def find(
        self, provider: str, *, credentials_id: str = "", destination: Destination | None = None
    ) -> Credential | None:
        """Return the credential with that id, else the one for the provider and destination, or None.

        `destination` is the server it will be sent to; logins require one. Raises CredentialUnbound if the credential
        is not bound to a server yet, and PortError if it must not be sent there.
        """
        ...

    def bind(self, credentials_id: str, destination: Destination) -> None:
        """Bind an unbound credential to a server that its owner approved; a bound one stays as it is."""
        ...


# --- people, agents, turns ----------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class ReviewQuestion:
    """Data that a person is asked to review."""

    name: str
    data: JSON
    editable: bool
    outside_sources: tuple[str, ...] = ()  # outside sources that made the review necessary
    answer_schema: Mapping[str, JSON] | None = None  # the form in which `data` is filled in


@dataclass(frozen=True, kw_only=True)
class ReviewDecision:
    """A person's decision; `data` is the data as they left it."""

    approved: bool
    data: JSON
    message: str = ""


class ReviewPort(Protocol):
    """Asks a person to review data."""

    def decide(self, question: ReviewQuestion, key: str) -> ReviewDecision:
        """Return the decision; raise ParkedForReview while there is none. The same key asks only once."""
        ...


@dataclass(frozen=True, kw_only=True)
class SubAgentRun:
    """A run of another agent, started by this one."""

    agent_id: str
    version: int
    inputs: Mapping[str, JSON]
    input_masks: Mapping[str, JSON] | None = None
    key: str


class SubAgentPort(Protocol):
    """Runs another agent."""

    def run(self, run: SubAgentRun, cancel: StopSignal) -> Iterator[tuple[str, JSON]]:
        """Yield the child's outputs as they appear; raise PortError if the user has no such agent.

        A failed child ends without further outputs. Setting `cancel` stops the child.
        """
        ...


@dataclass(frozen=True, kw_only=True)
class TurnOrder:
    """A turn of the copilot, requested by an agent."""

    prompt: str
    system_context: str = ""
    session_id: str = ""
    max_depth: int = 3
    permissions: Mapping[str, JSON] = field(default_factory=dict)
    dry_run: bool = False
    key: str


@dataclass(frozen=True, kw_only=True)
class CopilotAnswer:
    """The result of that turn; `error` is empty if it succeeded."""

    session_id: str
    response: str
    tool_calls: tuple[Mapping[str, JSON], ...] = ()
    history: str = ""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    error: str = ""


class TurnRunner(Protocol):
    """Runs a turn of the copilot and waits for it; implemented by chat."""

    def run(self, order: TurnOrder, cancel: StopSignal) -> CopilotAnswer:
        """Run one turn, once per key; raise PortError if the session is not the user's."""
        ...


# --- tools of an orchestrator -------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class ToolOffer:
    """A node linked from an orchestrator's `tools` pin, as a function; `pins` maps arguments to pins."""

    name: str
    description: str
    parameters: Mapping[str, JSON]
    node_id: str
    pins: Mapping[str, str]


class ToolboxPort(Protocol):
    """The nodes an orchestrator may use as tools."""

    def offers(self) -> Sequence[ToolOffer]:
        """Return the nodes linked from `tools`, one function each."""
        ...

    def call(self, offer: ToolOffer, arguments: Mapping[str, JSON], *, key: str, cancel: StopSignal) -> JSON:
        """Run that node once per key and return its outputs by pin; raise PortError with its error."""
        ...


@dataclass(frozen=True, kw_only=True)
class Ports:
    """Every port, passed to a block in its context."""

    model: ModelPort
    http: HttpPort
    sandbox: SandboxPort
    files: FilesPort
    clock: ClockPort
    random: RandomPort
    store: StorePort
    mail: MailPort
    database: DatabasePort
    search: SearchPort
    transcripts: TranscriptPort
    credentials: CredentialsPort
    reviews: ReviewPort
    agents: SubAgentPort
    turns: TurnRunner
    tools: ToolboxPort
