"""URLs that a model may fetch without approval after it has read third-party content: those it did not compose.

A URL can carry data away, so one that the model composed needs approval. One that appears verbatim in what the user
wrote, or in the result of a page or a search, was not composed by the model.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator
from typing import Any

from blocks.errors import UnknownBlock
from blocks.registry import get_registry
from boundary import taint
from tools.context import ToolContext
from tools.models import ToolCall
from workspace.nested_values import strings_in

READERS = ("web_fetch", "run_block", "continue_run_block")


def is_known(url: str, context: ToolContext) -> bool:
    """Return whether this URL appears in what the user wrote or in what was read."""
    return _holds(context.said_by_person(), url) or any(
        _holds(strings_in(call.result), url) and not _holds(strings_in(call.arguments), url)
        for call in reading_calls(context.session_id)
    )


def are_known(inputs: Any, context: ToolContext) -> bool:
    """Return whether all URLs among a block's inputs are known; False if there are none."""
    urls = [
        text.strip()
        for text in strings_in(inputs)
        if text.strip().lower().startswith(("http://", "https://"))
    ]
    return bool(urls) and all(is_known(url, context) for url in urls)


def reading_calls(session_id: uuid.UUID) -> Iterator[ToolCall]:
    """Yield the calls whose results are third-party content, not what the model itself put into a file or command."""
    calls = ToolCall.objects.filter(session_id=session_id, name__in=READERS, state=ToolCall.State.SUCCEEDED)
    for call in calls.only("name", "arguments", "result").order_by("-started_at").iterator():
        if call.name != "run_block" or _reads_outside(call.arguments):
            yield call


def _reads_outside(arguments: Any) -> bool:
    wanted = arguments.get("block_id", "") if isinstance(arguments, dict) else ""
    registry = get_registry()
    for get in (registry.get, registry.get_by_name):
        try:
            return get(wanted).gives_outside_content
        except UnknownBlock:
            continue
    return False


def _holds(texts: Iterable[str], url: str) -> bool:
    return any(taint.holds_address(text, url) for text in texts)
