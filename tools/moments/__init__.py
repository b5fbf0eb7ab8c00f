"""Words for times: what a person calls "yesterday" or "last 3 hours", as a range in their time zone."""

from tools.moments.errors import UnknownMoment
from tools.moments.reading import read_span
from tools.moments.span import Span

__all__ = ["Span", "UnknownMoment", "read_span"]
