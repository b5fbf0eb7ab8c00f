"""The result of a check."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Check:
    """One part of the system: healthy, or what is wrong and how to fix it."""

    name: str
    ok: bool
    message: str
    hint: str = ""
    needed: bool = True


def well(name: str, message: str, *, needed: bool = True) -> Check:
    return Check(name=name, ok=True, message=message, needed=needed)


def broken(name: str, message: str, hint: str, *, needed: bool = True) -> Check:
    return Check(name=name, ok=False, message=message, hint=hint, needed=needed)
