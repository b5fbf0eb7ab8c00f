"""Times as text: a strftime pattern or ISO 8601, in a chosen zone or the user's."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from executions.blocks.coercion import coerce
from executions.blocks.context import BlockContext
from executions.blocks.errors import BlockFailed
from executions.blocks.schema import Object

MAX_PATTERN_CHARACTERS = 1_000
BOOLEAN = {"type": "boolean"}


@dataclass(frozen=True, kw_only=True)
class MomentFormat:
    """How a time is written; `pattern` is None for ISO 8601."""

    pattern: str | None
    timezone: str
    use_user_timezone: bool
    include_microseconds: bool

    @classmethod
    def read(cls, format_type: Object, default_pattern: str) -> MomentFormat:
        """From the pin `format_type`; raises BlockFailed for what it cannot hold."""
        kind = format_type.get("discriminator", "strftime")
        if kind not in ("strftime", "iso8601"):
            raise BlockFailed(f"The format {kind!r} is not known. Use strftime or iso8601.")
        pattern = format_type.get("format", default_pattern) or default_pattern
        if not isinstance(pattern, str) or len(pattern) > MAX_PATTERN_CHARACTERS or "\0" in pattern:
            raise BlockFailed("The format is no strftime pattern. Use something like %Y-%m-%d.")
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
        """The present in the zone the format asks for."""
        return context.now().astimezone(self._zone(context))

    def write(self, moment: datetime, iso: str) -> str:
        """By the pattern, or the ISO text the block made."""
        return iso if self.pattern is None else moment.strftime(self.pattern)

    def _zone(self, context: BlockContext) -> ZoneInfo:
        if self.use_user_timezone:
            return context.zone
        try:
            return ZoneInfo(self.timezone)
        except (ZoneInfoNotFoundError, ValueError, OSError):
            raise BlockFailed(
                f"The time zone {self.timezone!r} is not known. Use one like Europe/Berlin."
            ) from None
