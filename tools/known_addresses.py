"""Which addresses a model may fetch by itself after it has read content from outside: those it did not make up.

An address can carry data away, so one that the model composed asks a person. One that stands word for word in what
the person wrote, or in what a page or a search answered, was chosen by somebody else.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator
from typing import Any

from boundary import taint
from executions.blocks.errors import UnknownBlock
from executions.blocks.registry import get_registry
from tools.context import ToolContext
from tools.models import ToolCall

READERS = ("web_fetch", "run_block", "continue_run_block")


def is_known(url: str, context: ToolContext) -> bool:
    """Whether the person or something that was read has given this address."""
    return _holds(context.said_by_person(), url) or any(
        _holds(strings_in(call.result), url) and not _holds(strings_in(call.arguments), url)
        for call in reading_calls(context.session_id)
    )


def are_known(inputs: Any, context: ToolContext) -> bool:
    """The same for all addresses among a block's inputs; False where there is none to look at."""
    urls = [
        text.strip()
        for text in strings_in(inputs)
        if text.strip().lower().startswith(("http://", "https://"))
    ]
    return bool(urls) and all(is_known(url, context) for url in urls)


def reading_calls(session_id: uuid.UUID) -> Iterator[ToolCall]:
    """Calls whose results were written by somebody else. What the model has put into a file, a command or a pure
    block comes back from there as well, and does not count."""
    calls = ToolCall.objects.filter(session_id=session_id, name__in=READERS, state=ToolCall.State.SUCCEEDED)
    for call in calls.only("name", "arguments", "result").order_by("-started_at").iterator():
        if call.name != "run_block" or _reads_outside(call.arguments):
            yield call


def _reads_outside(arguments: Any) -> bool:
    wanted = arguments.get("block_id", "") if isinstance(arguments, dict) else ""
    registry = get_registry()
    for look in (registry.get, registry.get_by_name):
        try:
            return look(wanted).gives_outside_content
        except UnknownBlock:
            continue
    return False


def _holds(texts: Iterable[str], url: str) -> bool:
    return any(taint.holds_address(text, url) for text in texts)


def strings_in(value: Any) -> Iterator[str]:
    """Every text in a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from strings_in(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from strings_in(item)
