"""Format times with strftime or ISO 8601, in a given time zone or the user's."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from blocks.coercion import coerce
from blocks.context import BlockContext
from blocks.errors import BlockFailed
from blocks.schema import Object, pin

TRIGGER_NOTE = "Any value; it only starts the block."
MAX_PATTERN_CHARACTERS = 1_000
BOOLEAN = {"type": "boolean"}


def format_pin() -> Any:
    """Declare the pin `format_type`."""
    return pin(
        {"discriminator": "strftime"},
        description="strftime with a format, or iso8601; optionally with a time zone.",
        advanced=True,
    )


@dataclass(frozen=True, kw_only=True)
class TimeFormat:
    """The format of a time; `pattern` is None for ISO 8601."""

    pattern: str | None
    timezone: str
    use_user_timezone: bool
    include_microseconds: bool

    @classmethod
    def read(cls, format_type: Object, default_pattern: str) -> TimeFormat:
        """Read the pin `format_type`; raise BlockFailed if it is invalid."""
        kind = format_type.get("discriminator", "strftime")
        if kind not in ("strftime", "iso8601"):
            raise BlockFailed(f"The format {kind!r} is unknown. Use strftime or iso8601.")
        pattern = format_type.get("format", default_pattern) or default_pattern
        if not isinstance(pattern, str) or len(pattern) > MAX_PATTERN_CHARACTERS or "\0" in pattern:
            raise BlockFailed("The format is not a valid strftime pattern. Use something like %Y-%m-%d.")
        return cls(
            pattern=pattern if kind == "strftime" else None,
            timezone=str(format_type.get("timezone") or "UTC"),
            use_user_timezone=coerce(format_type.get("use_user_timezone", False), BOOLEAN) is True,
            include_microseconds=coerce(format_type.get("include_microseconds", False), BOOLEAN) is True,
        )

    @property
    def timespec(self) -> str:
        return "microseconds" if self.include_microseconds else "seconds"

    def now(self, context: BlockContext) -> datetime:
        """Return the current time in the time zone of the format."""
        return context.now().astimezone(self._zone(context))

    def write(self, moment: datetime, iso: str) -> str:
        """Format with the pattern, or return the given ISO text."""
        return iso if self.pattern is None else moment.strftime(self.pattern)

    def _zone(self, context: BlockContext) -> ZoneInfo:
        if self.use_user_timezone:
            return context.zone
        try:
            return ZoneInfo(self.timezone)
        except (ZoneInfoNotFoundError, ValueError, OSError):
            raise BlockFailed(
                f"The time zone {self.timezone!r} is unknown. Use one like Europe/Berlin."
            ) from None
