"""How numbers and lists are said in the operations room."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal


def counted(number: int, singular: str, plural: str = "") -> str:
    """`1 turn`, `2 turns`."""
    return f"{number:,} {singular if number == 1 else plural or f'{singular}s'}"


def joined(words: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return " and ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else "".join(words)


def span(seconds: float) -> str:
    """`0.25 s`, `4.5 s`, `45 s`, `3 min`, `2 h`, `4 days`."""
    if seconds < 10:
        return f"{seconds:.2f} s" if seconds < 1 else f"{seconds:.1f} s"
    for limit, size, name in ((120, 1, "s"), (7_200, 60, "min"), (172_800, 3_600, "h")):
        if seconds < limit:
            return f"{seconds / size:.0f} {name}"
    return f"{seconds / 86_400:.0f} days"


def wait(seconds: float) -> str:
    """A span of which nobody needs the hundredths."""
    return span(seconds) if seconds >= 1 else "under 1 s"


def money(dollars: Decimal | float) -> str:
    """`$0.00`, `$1.25`; of less than a cent as much as tells it from nothing: `$0.0012`."""
    amount = float(dollars)
    return f"${amount:,.2f}" if not amount or abs(amount) >= 0.01 else f"${amount:.2g}"
