"""Answers of outside services to which tools hand their work over."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from durable import storable
from tools.errors import ToolError


@dataclass(frozen=True, kw_only=True)
class OutsideAnswer:
    """The unprocessed answer of a service; `late` if it did not answer in time."""

    success: bool
    result: Any = None
    error: str = ""
    late: bool = False

    def unwrap(self) -> Any:
        """Return the result; raises ToolError with the service's error if there is none."""
        if self.success:
            return self.result
        if self.late:
            raise ToolError("The outside service did not answer in time.", code="timed_out")
        raise ToolError(self.error or "The outside service reported a failure without a reason.")

    def as_json(self) -> dict[str, Any]:
        """Return the form in which it is stored until the tool has processed it."""
        return {
            "success": self.success,
            "result": storable.nearest_json(self.result),
            "error": storable.text(self.error),
            "late": self.late,
        }

    @classmethod
    def parse(cls, kept: dict[str, Any]) -> OutsideAnswer:
        return cls(**kept)
