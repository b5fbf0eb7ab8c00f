"""What a client of the API may ask of one turn beside its message, as it is stored with the turn."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import timedelta
from typing import Any

from django.db.models import Q
from django.utils import timezone

from chat.models import Session, Turn
from llm.types import ToolSpec

NONE = "none"


@dataclass(frozen=True, kw_only=True)
class TurnOptions:
    """Instructions, tools of the client, format and size of the answer; the default asks for nothing."""

    instructions: str = ""
    tools: tuple[ToolSpec, ...] = ()
    tool_choice: str | Mapping[str, Any] | None = None
    parallel_tool_calls: bool | None = None
    response_format: Mapping[str, Any] | None = None
    temperature: float | None = None
    max_output_tokens: int | None = None
    echo: Mapping[str, Any] = field(default_factory=dict)  # fields that the client gets back with the answer

    @classmethod
    def of(cls, turn: Turn) -> TurnOptions:
        """Return the options stored with a turn; a turn without any asks for nothing."""
        if not turn.options:
            return PLAIN
        tools = tuple(ToolSpec(**tool) for tool in turn.options.get("tools", ()))
        return cls(**(turn.options | {"tools": tools}))

    def as_json(self) -> dict[str, Any]:
        return {name: value for name, value in asdict(self).items() if value not in (None, "", (), {})}

    def offered(self, ours: Sequence[ToolSpec]) -> list[ToolSpec]:
        """Return the tools that the model may call: the site's, then the client's, which hide ours of that name."""
        if self.tool_choice == NONE:
            return []
        own = {tool.name for tool in self.tools}
        return [tool for tool in ours if tool.name not in own] + list(self.tools)

    def choice_at(self, step: int) -> str | Mapping[str, Any] | None:
        """Return the choice of tools for a step; one that forces a call holds for the first step only."""
        return self.tool_choice if step == 0 and self.tool_choice not in ("auto", NONE) else None


PLAIN = TurnOptions()


@dataclass(frozen=True, kw_only=True)
class ClientRequest:
    """What is written together with the turn of such a client.

    `key` identifies the request: a second turn with it cannot be written. `releases_key` takes it from an older turn
    first, for a request that is known to be a new one. `history` replaces what the session has, turns included.
    """

    options: TurnOptions = PLAIN
    key: str | None = None
    releases_key: bool = False
    api_key_id: uuid.UUID | None = None
    history_hash: str = ""
    history: Sequence[Mapping[str, Any]] | None = None
    keep_seconds: float | None = None  # of a hidden session, from now on


def prepare_session(session: Session, request: ClientRequest) -> None:
    """Change the session and older turns as the request asks. Needs the session's lock, in the turn's transaction."""
    if request.releases_key and request.key:
        Turn.objects.filter(user=session.user, request_key=request.key).update(request_key=None)
    changes: dict[str, Any] = {"history_hash": request.history_hash}
    if request.history is not None:
        changes |= {"given_history": list(request.history) or None, "summary": "", "summary_until": 0}
        live = Q(status__in=Turn.LIVE)
        session.turns.filter(~live, superseded_at=None).update(superseded_at=Turn.clock.now())
    if request.keep_seconds is not None:
        changes["expires_at"] = timezone.now() + timedelta(seconds=request.keep_seconds)
    Session.objects.filter(pk=session.pk).update(**changes)
