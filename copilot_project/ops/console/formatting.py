"""Format numbers, durations, amounts and lists for the operations console, in code and as template filters."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from django import template

register = template.Library()


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


@register.filter
def wait(seconds: float) -> str:
    """Like `span`, but without fractions below a second."""
    return span(seconds) if seconds >= 1 else "under 1 s"


@register.filter
def money(dollars: Decimal | float) -> str:
    """`$0.00`, `$1.25`; below a cent two significant digits: `$0.0012`."""
    amount = float(dollars)
    return f"${amount:,.2f}" if not amount or abs(amount) >= 0.01 else f"${amount:.2g}"


@register.filter
def seconds(value: float | None) -> str:
    """Like `span`; a dash for nothing."""
    return span(value) if value else "-"


@register.filter
def number(value: float) -> str:
    """`12,345`."""
    return f"{value:,.0f}"


@register.filter
def unlocal(value: float) -> str:
    """Format a number for SVG, independent of the locale."""
    return f"{value:g}"
