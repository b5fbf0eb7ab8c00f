"""Tool definitions of servers: what is read of them, their digest, their effect, and how two of them differ."""

from __future__ import annotations

import difflib
import hashlib
import json
import re
from collections.abc import Iterable
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from connections import limits, param_headers
from connections.models import ServerTool
from durable import storable

if TYPE_CHECKING:
    from mcp_types import Tool as WireTool

PREFIX = "mcp"
MAX_NAME = 64  # what model providers accept
DIGEST_CHARACTERS = 6
UNFIT = re.compile(r"[^A-Za-z0-9_-]+")
Effect = ServerTool.Effect
CARE = (Effect.PURE, Effect.IDEMPOTENT, Effect.FOREIGN)  # from the most trusted to the least
MAX_DIFFERENCE_LINES = 400

Definition = dict[str, Any]


class UnusableDefinition(ValueError):
    """The server describes this tool in a way that cannot be used."""


def read(raw: Any) -> Definition:
    """Return the parts of a definition that count; raises UnusableDefinition. Icons and the like are left out."""
    try:
        tool = wire_tool().model_validate(raw)
    except (ValidationError, RecursionError):
        raise UnusableDefinition("It is not a tool definition of the protocol.") from None
    kept = tool.model_dump(
        by_alias=True,
        exclude_none=True,
        mode="json",
        include={"name", "title", "description", "input_schema", "output_schema", "annotations", "execution"},
    )
    definition: Definition = storable.nearest_json(kept)
    if not 0 < len(definition["name"]) <= 255:
        raise UnusableDefinition("Its name is empty or too long.")
    if len(canonical(definition)) > limits.MAX_DEFINITION_CHARACTERS:
        raise UnusableDefinition(f"It has more than {limits.MAX_DEFINITION_CHARACTERS:,} characters.")
    if problem := param_headers.problem_of(definition.get("inputSchema")):
        raise UnusableDefinition(problem)
    return definition


@cache
def wire_tool() -> type[WireTool]:
    """Return the protocol's own form of a tool, imported when tools are first listed: it takes a fifth of a second."""
    return import_module("mcp_types").Tool  # type: ignore[no-any-return]


def canonical(definition: Definition) -> str:
    return json.dumps(definition, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def digest(definition: Definition) -> str:
    """Return the hash by which a definition is pinned."""
    return hashlib.sha256(canonical(definition).encode()).hexdigest()


def effect_of(definition: Definition) -> str:
    """Return the effect that the server's hints promise; without hints a call may do anything."""
    hints = definition.get("annotations")
    hints = hints if isinstance(hints, dict) else {}
    if hints.get("readOnlyHint") is True:
        return Effect.PURE
    return Effect.IDEMPOTENT if hints.get("idempotentHint") is True else Effect.FOREIGN


def is_more_careful(effect: str, than: str) -> bool:
    """Return whether an effect trusts a tool less than, or as much as, another one."""
    return CARE.index(Effect(effect)) >= CARE.index(Effect(than))


def difference(before: Definition, after: Definition) -> str:
    """Return the lines in which two definitions differ, as a unified diff."""
    lines = difflib.unified_diff(pretty(before), pretty(after), "approved", "now", lineterm="", n=3)
    shown = list(lines)
    more = len(shown) - MAX_DIFFERENCE_LINES
    return "\n".join(shown[:MAX_DIFFERENCE_LINES] + ([f"… {more} more lines"] if more > 0 else []))


def pretty(definition: Definition) -> list[str]:
    if not definition:
        return []
    return json.dumps(definition, sort_keys=True, ensure_ascii=False, indent=2).splitlines()


def known_as(server: str, name: str, taken: Iterable[str]) -> str:
    """Return the name by which the model calls a tool: valid, unique, and the same every time."""
    plain = f"{PREFIX}__{server}__{UNFIT.sub('_', name).strip('_') or 'tool'}"
    if len(plain) <= MAX_NAME and plain not in set(taken):
        return plain
    mark = hashlib.sha256(f"{server}\0{name}".encode()).hexdigest()[:DIGEST_CHARACTERS]
    return f"{plain[: MAX_NAME - DIGEST_CHARACTERS - 1]}_{mark}"
