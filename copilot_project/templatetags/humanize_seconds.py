"""How numbers are written in the operations room."""

from __future__ import annotations

from django import template

register = template.Library()


@register.filter
def seconds(value: float) -> str:
    """`1.25 s`, `3 min`, `2 h`; nothing for nothing."""
    if not value:
        return "-"
    if value < 120:
        return f"{value:.2f} s" if value < 10 else f"{value:.0f} s"
    return f"{value / 60:.0f} min" if value < 7200 else f"{value / 3600:.0f} h"


@register.filter
def unlocal(value: float) -> str:
    """A number as SVG wants it, whatever the reader's language."""
    return f"{value:g}"
