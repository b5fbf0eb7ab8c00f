"""How numbers are written in the operations room."""

from __future__ import annotations

from decimal import Decimal

from django import template

from copilot_project.console import words
from copilot_project.console.words import span, wait

register = template.Library()


@register.filter
def seconds(value: float) -> str:
    """`1.2 s`, `3 min`, `2 h`; a dash for nothing."""
    return span(value) if value else "-"


@register.filter
def waited(value: float) -> str:
    """`under 1 s`, `4.2 s`, `3 min`."""
    return wait(value)


@register.filter
def unlocal(value: float) -> str:
    """A number as SVG wants it, whatever the reader's language."""
    return f"{value:g}"


@register.filter
def money(value: Decimal | float) -> str:
    """`$1.25`, `$0.0012`."""
    return words.money(value)


@register.filter
def number(value: float) -> str:
    """`12,345`."""
    return f"{value:,.0f}"
