"""The doors between blocks and the world: what a block may ask for, filled in by whoever runs it.

A block does no I/O of its own. It asks one of these ports, so a test hands it a double
(`executions.blocks.doubles`), the engine the real thing, and a lower package never imports a higher one.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Protocol

from llm.types import CancelSignal, Completion, Request

if TYPE_CHECKING:  # the HTTP stack is slow to import, and a protocol only names its types
    from boundary.destinations import Destination
    from boundary.http import OutboundRequest, OutboundResponse
    from boundary.sandbox import SandboxRequest, SandboxResult

JSON = Any


class PortError(Exception):
    """The world outside a block could not do what was asked; the text is a sentence for the person."""


# --- model, web, sandbox ------------------------------------------------------------------------


class ModelPort(Protocol):
    """Asks a language model; any model name is accepted and mapped to the configured endpoint."""

    def complete(self, request: Request, cancel: CancelSignal) -> Completion:
        """One whole answer; raises `llm.errors.LLMError`."""
        ...


class HttpPort(Protocol):
    """The guarded way to the web: private addresses are refused before a packet is sent."""

    def fetch(self, request: OutboundRequest) -> OutboundResponse:
        """One request; raises `boundary.errors.FetchError`; an HTTP error status is an answer."""
        ...


class SandboxPort(Protocol):
    """Runs untrusted code where it can reach nothing."""

    def run(self, request: SandboxRequest, cancel: CancelSignal) -> SandboxResult:
        """One command in a fresh folder; raises `boundary.errors.SandboxError` when nothing could be run."""
        ...


# --- files --------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class StoredFile:
    """A workspace file: its `reference` is `workspace://id`."""

    reference: str
    name: str
    media_type: str
    content: bytes


class FilesPort(Protocol):
    """The workspace of the user the block runs for."""

    def save(self, *, name: str, content: bytes, media_type: str, key: str) -> StoredFile:
        """Keep a file; the same `key` again returns the file kept the first time. Raises PortError over quota."""
        ...

    def open(self, reference: str) -> StoredFile:
        """A file by `workspace://id` or by its path; raises PortError when it is not there or not the user's."""
        ...


# --- clock, chance, memory ----------------------------------------------------------------------


class ClockPort(Protocol):
    """Time, so that a test can hold it still."""

    def now(self) -> datetime:
        """The present, with a time zone."""
        ...

    def wait_until(self, moment: datetime, cancel: CancelSignal) -> None:
        """Return at `moment`, earlier at a cancel or to have the time cap looked at; may raise ParkedUntil."""
        ...


class RandomPort(Protocol):
    """Chance, so that a second attempt of the same node run throws the same dice."""

    def generator(self, key: str) -> random.Random:
        """A generator seeded by `key`."""
        ...


class StoreScope(StrEnum):
    """Whose value it is."""

    ACROSS_AGENTS = "across_agents"  # the user's, whichever agent runs
    WITHIN_AGENT = "within_agent"  # the user's in this agent, in every execution
    NODE = "node"  # this node's in this execution, in each of its runs
    NODE_EXECUTION = "node_execution"  # this node run's, so that a second attempt finds it


class StorePort(Protocol):
    """Values that outlive a node run."""

    def get(self, scope: StoreScope, key: str) -> JSON:
        """The stored value, or `pins.MISSING`."""
        ...

    def put(self, scope: StoreScope, key: str, value: JSON) -> None:
        """Keep the value, overwriting."""
        ...

    def put_if_absent(self, scope: StoreScope, key: str, value: JSON) -> JSON:
        """Keep the value unless there is one; returns the one that stands."""
        ...


# --- mail, databases, search, captions ----------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Mail:
    """One plain-text message and the server that takes it; `key` becomes its Message-ID.

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
        """Hand the message over; raises PortError with a sentence of its own for each kind of failure."""
        ...


@dataclass(frozen=True, kw_only=True)
class DatabaseQuery:
    """One statement for one database; for SQLite `content` is the file itself.

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
    """The rows of a query; `affected_rows` is set for a statement that writes."""

    columns: tuple[str, ...]
    rows: tuple[dict[str, JSON], ...]
    truncated: bool
    affected_rows: int | None = None


class DatabasePort(Protocol):
    """Asks a database that is not ours."""

    def run(self, query: DatabaseQuery, cancel: CancelSignal) -> DatabaseAnswer:
        """One statement; raises PortError, secrets masked."""
        ...


@dataclass(frozen=True, kw_only=True)
class SearchHit:
    """One result of a web search."""

    title: str
    url: str
    snippet: str


class SearchPort(Protocol):
    """Searches the web, or a local corpus where there is none."""

    def search(self, query: str) -> Sequence[SearchHit]:
        """The best hits first; raises PortError."""
        ...


class TranscriptPort(Protocol):
    """Fetches the captions of a video."""

    def transcript(self, video_id: str) -> str:
        """The spoken text, one caption a line; raises PortError."""
        ...


# --- credentials --------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Credential:
    """A secret of the user's, decrypted for one use; what is not part of its kind is empty."""

    id: str
    provider: str
    username: str = ""
    password: str = field(default="", repr=False)
    api_key: str = field(default="", repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    ca_certificate: str = ""  # PEM text to check the server with instead of the public authorities


class CredentialUnbound(PortError):
    """The credential is bound to no server yet, so it is sent to none."""

    def __init__(self, message: str, *, credentials_id: str, title: str) -> None:
        super().__init__(message)
        self.credentials_id = credentials_id
        self.title = title


class CredentialsPort(Protocol):
    """The user's credentials."""

    def find(
        self, provider: str, *, credentials_id: str = "", destination: Destination | None = None
    ) -> Credential | None:
        """The one with that id, else the one kept for the provider and destination; None when there is none.

        `destination` is the server it is about to be sent to; a login is never handed out without one. Raises
        CredentialUnbound while its owner has bound it to no server, and PortError when it must not be sent there.
        """
        ...

    def bind(self, credentials_id: str, destination: Destination) -> None:
        """Bind a credential without a server to that one, as its owner approved; one that has a server keeps it."""
        ...


# --- people, agents, turns ----------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class ReviewQuestion:
    """What a person is asked to look at."""

    name: str
    data: JSON
    editable: bool
    outside_sources: tuple[str, ...] = ()  # because of which it is asked


@dataclass(frozen=True, kw_only=True)
class ReviewDecision:
    """What the person said; `data` is what they left of the data."""

    approved: bool
    data: JSON
    message: str = ""


class ReviewPort(Protocol):
    """Asks a person."""

    def decide(self, question: ReviewQuestion, key: str) -> ReviewDecision:
        """The decision; raises ParkedForReview while there is none. Asking again with the same key asks once."""
        ...


@dataclass(frozen=True, kw_only=True)
class SubAgentRun:
    """A run of another agent from inside this one."""

    agent_id: str
    version: int
    inputs: Mapping[str, JSON]
    input_masks: Mapping[str, JSON] | None = None
    key: str


class SubAgentPort(Protocol):
    """Runs an agent inside an agent."""

    def run(self, run: SubAgentRun, cancel: CancelSignal) -> Iterator[tuple[str, JSON]]:
        """The child's outputs as they appear; raises PortError when the agent is not the user's.

        A failed child ends without further outputs. Setting `cancel` stops the child.
        """
        ...


@dataclass(frozen=True, kw_only=True)
class TurnOrder:
    """A turn of the copilot, asked for by an agent."""

    prompt: str
    system_context: str = ""
    session_id: str = ""
    max_depth: int = 3
    permissions: Mapping[str, JSON] = field(default_factory=dict)
    dry_run: bool = False
    key: str


@dataclass(frozen=True, kw_only=True)
class TurnAnswer:
    """How that turn ended: `error` is empty when it went well."""

    session_id: str
    response: str
    tool_calls: tuple[Mapping[str, JSON], ...] = ()
    history: str = ""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    error: str = ""


class TurnRunner(Protocol):
    """Runs a turn of the copilot and waits for its end; filled in by chat."""

    def run(self, order: TurnOrder, cancel: CancelSignal) -> TurnAnswer:
        """One turn; raises PortError when the session is not the user's. The same key runs once."""
        ...


# --- tools of an orchestrator -------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class ToolOffer:
    """A node linked from an orchestrator's `tools` pin, as a function; `pins` maps its arguments to the node's."""

    name: str
    description: str
    parameters: Mapping[str, JSON]
    node_id: str
    pins: Mapping[str, str]


class ToolboxPort(Protocol):
    """The nodes an orchestrator may use as tools."""

    def offers(self) -> Sequence[ToolOffer]:
        """The nodes linked from `tools`, one function each."""
        ...

    def call(
        self, offer: ToolOffer, arguments: Mapping[str, JSON], *, key: str, cancel: CancelSignal
    ) -> JSON:
        """Run that node and return its outputs by pin; raises PortError with its error. The same key runs once."""
        ...


@dataclass(frozen=True, kw_only=True)
class Ports:
    """Every door of a block, handed over in its context."""

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
