"""What is said to words that name no time."""

from __future__ import annotations

from tools.errors import ModelRetry

MAX_SHOWN_CHARACTERS = 100
WORKS = (
    "latest; today; yesterday; last week or last 7 days; last month or last 30 days; this week; this month; "
    "past 24 hours; last 3 hours; 3 days ago; monday; since monday; march; march 2026; 2026-03-05; "
    "2026-03-05T14:30 (an hour either side); yesterday at 14:30; between 2026-03-01 and yesterday"
)


class UnknownMoment(ModelRetry):
    """These words name no time. The text says which words do."""

    code = "unknown_time"

    def __init__(self, words: str) -> None:
        super().__init__(f"{words[:MAX_SHOWN_CHARACTERS]!r} names no time. What works: {WORKS}.")
