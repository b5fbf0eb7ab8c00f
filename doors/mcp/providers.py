"""Providers of tools, resources and prompts: ours, and those that other Django apps define in `copilot_mcp.py`.

A module `copilot_mcp` of an installed app defines subclasses of Provider; each is made once per process and asked with
every request. What it offers may depend on the caller.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from doors.callers import Caller
from doors.mcp.exchange import Exchange
from doors.mcp.outcomes import CallEnd, NeededInput

Notify = Callable[[str, Mapping[str, Any]], None]


def unheard(method: str, params: Mapping[str, Any]) -> None:
    """Send nothing: the response is not a stream."""


@dataclass(frozen=True, kw_only=True)
class McpCall:
    """One call of a tool, or one use of a prompt. `answers` are those to the questions it had before."""

    exchange: Exchange
    arguments: Mapping[str, Any]
    answers: Mapping[str, Any] = field(default_factory=dict)
    state: str = ""
    notify: Notify = unheard  # may be called from any thread

    @property
    def caller(self) -> Caller:
        return self.exchange.caller

    def progress(self, done: float, total: float | None = None, message: str = "") -> None:
        """Report progress, if the client asked for it."""
        token = self.exchange.progress_token
        if token is None:
            return
        said = {"total": total, "message": message or None}
        known = {name: value for name, value in said.items() if value is not None}
        self.notify("notifications/progress", {"progressToken": token, "progress": done, **known})


@dataclass(frozen=True, kw_only=True)
class McpTool:
    """A tool as clients see it; `call` is run in a thread."""

    name: str
    description: str
    input_schema: Mapping[str, Any]
    call: Callable[[McpCall], CallEnd]
    title: str = ""
    output_schema: Mapping[str, Any] | None = None
    annotations: Mapping[str, Any] = field(default_factory=dict)
    needs_task: bool = False  # it takes so long that a client without tasks is refused

    def as_json(self) -> dict[str, Any]:
        found: dict[str, Any] = {
            "name": self.name,
            "description": self.description,
            "inputSchema": self.input_schema,
        }
        given = {"title": self.title, "outputSchema": self.output_schema, "annotations": self.annotations}
        return found | {name: value for name, value in given.items() if value}


@dataclass(frozen=True, kw_only=True)
class McpPrompt:
    """A prompt as clients see it; `get` returns its messages."""

    name: str
    description: str
    get: Callable[[McpCall], Sequence[Mapping[str, Any]] | NeededInput]
    arguments: Sequence[Mapping[str, Any]] = ()

    def as_json(self) -> dict[str, Any]:
        found: dict[str, Any] = {"name": self.name, "description": self.description}
        return found | ({"arguments": list(self.arguments)} if self.arguments else {})


@dataclass(frozen=True, kw_only=True)
class ResourcePage:
    """Some resources; `next` is where the following ones begin."""

    resources: Sequence[Mapping[str, Any]]
    next: str | None = None


class Provider:
    """Offers nothing; a subclass overrides what it offers. Methods run in threads and may read the database."""

    def tools(self, caller: Caller) -> Iterable[McpTool]:
        """Return the tools of this caller."""
        return ()

    def tool(self, caller: Caller, name: str) -> McpTool | None:
        """Return one tool by name; override it where looking for one is cheaper than listing all."""
        return next((tool for tool in self.tools(caller) if tool.name == name), None)

    def prompts(self, caller: Caller) -> Iterable[McpPrompt]:
        """Return the prompts of this caller."""
        return ()

    def resources(self, caller: Caller, cursor: str | None) -> ResourcePage:
        """Return a page of resources; the first one without a cursor."""
        return ResourcePage(resources=())

    def templates(self) -> Iterable[Mapping[str, Any]]:
        """Return the templates of resources that are not listed."""
        return ()

    def read(self, caller: Caller, uri: str) -> Sequence[Mapping[str, Any]] | None:
        """Return the contents of a resource; None if the address is not one of this provider."""
        return None

    def complete(self, caller: Caller, ref: Mapping[str, Any], argument: Mapping[str, Any]) -> Sequence[str]:
        """Return how an argument may go on."""
        return ()

    def completes(self, caller: Caller) -> bool:
        """Return whether it completes arguments at all."""
        return False
