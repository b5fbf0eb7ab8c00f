"""Parse expressions such as "yesterday" or "last 3 hours" into ranges in the user's time zone."""

from tools.time_ranges.parse import UnknownTimeRange, read_span
from tools.time_ranges.time_range import TimeRange

__all__ = ["TimeRange", "UnknownTimeRange", "read_span"]
