"""The answer of an outside service that a tool had handed its work to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from durable import storable
from tools.errors import ToolError


@dataclass(frozen=True, kw_only=True)
class OutsideAnswer:
    """What the service said, as it said it; `late` when it said nothing in the time it had."""

    success: bool
    result: Any = None
    error: str = ""
    late: bool = False

    def unwrap(self) -> Any:
        """The result; where there is none, a ToolError in the service's own words."""
        if self.success:
            return self.result
        if self.late:
            raise ToolError(
                "The outside service that took this over has not answered in time.", code="timed_out"
            )
        raise ToolError(self.error or "The outside service reported a failure without saying why.")

    def as_json(self) -> dict[str, Any]:
        """The form in which it is kept until the tool has seen it."""
        return {
            "success": self.success,
            "result": storable.nearest_json(self.result),
            "error": storable.text(self.error),
            "late": self.late,
        }

    @classmethod
    def parse(cls, kept: dict[str, Any]) -> OutsideAnswer:
        return cls(**kept)
