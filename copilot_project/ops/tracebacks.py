"""Render an exception for logs: its type and location, and its text only if that holds no private data.

The text of an unexpected error often quotes the value that caused it: a user's message, an argument or a key.
"""

from __future__ import annotations

import traceback
from collections.abc import Iterator

from django.db import InterfaceError, OperationalError
from kombu.exceptions import OperationalError as BrokerDown

from copilot_project.env import ROOT
from durable.redis import RedisError

OURS = frozenset(package.parent.name for package in ROOT.glob("*/__init__.py"))
SAYS_NOTHING_PRIVATE = (
    OperationalError,
    InterfaceError,
    RedisError,
    BrokerDown,
    ImportError,
    NameError,
    AttributeError,
    TypeError,
    RecursionError,
    MemoryError,
    ConnectionError,
    TimeoutError,
)
WITHHELD = "(text withheld)"


def render(error: BaseException) -> str:
    """Return the traceback with all causes, oldest first, as Python prints it."""
    parts = []
    for link in reversed(list(chain(error))):
        parts.append("".join(traceback.format_tb(link.__traceback__)) + f"{name_of(link)}: {text_of(link)}")
    return "\n\nwhich led to:\n\n".join(parts)


def text_of(error: BaseException) -> str:
    """Return the text of our own errors and of those that hold no values, such as connection errors."""
    ours = type(error).__module__.split(".")[0] in OURS
    return str(error) if ours or isinstance(error, SAYS_NOTHING_PRIVATE) else WITHHELD


def name_of(error: BaseException) -> str:
    kind = type(error)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def chain(error: BaseException | None) -> Iterator[BaseException]:
    """Yield the error and its causes."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
