"""The result types of repairs."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

from executions.agents.validation.problems import Code
from executions.agents.validation.scope import Scope
from executions.graph import Graph


@dataclass(frozen=True, kw_only=True)
class AppliedFix:
    """One fix: the problem it solves, where, and a sentence."""

    code: Code
    message: str
    node_id: str = ""
    pin: str = ""
    sub_agent: str = ""

    def as_json(self) -> dict[str, Any]:
        shown = {"code": str(self.code), "message": self.message, "node_id": self.node_id}
        shown |= {"pin": self.pin, "sub_agent": self.sub_agent}
        return {name: value for name, value in shown.items() if value}


class Fixed(NamedTuple):
    """A graph after repairs, and the fixes."""

    graph: Graph
    fixes: tuple[AppliedFix, ...]


Repair: TypeAlias = Callable[[Graph, Scope], Fixed]


def derive_id(*parts: object) -> str:
    """Return an id derived from its context, so that the same graph is repaired the same way."""
    return str(uuid.uuid5(uuid.NAMESPACE_OID, "\x1f".join(map(str, parts))))
