"""Values too large for a row: stored in a workspace file and replaced by a reference.

The reference is passed through the graph; a block gets the value itself.
"""

from __future__ import annotations

import io
import json
from collections.abc import Collection, Mapping
from functools import lru_cache
from typing import Any

from django.contrib.auth.models import AbstractBaseUser

from blocks.ports import JSON
from durable.errors import Refusal
from durable.redaction import REDACTED
from executions import limits
from executions.engine.errors import ValueNotStored
from workspace import files
from workspace.errors import WorkspaceError

FOLDER = "executions"
NOTE_KEY = "large_value"
ITEM_BYTES = 8  # roughly what a number, a comma or a bracket takes
CACHED_VALUES = 8


def is_large(value: JSON, most: int = limits.MAX_STORED_VALUE_BYTES) -> bool:
    """Return whether its JSON would be longer than `most`, roughly; stops as soon as that is known."""
    return size_of(value, most) > most


def size_of(value: JSON, most: int) -> int:
    """Return the approximate size of its JSON in bytes; counting ends soon after `most`."""
    kind = type(value)
    if kind is str:
        return len(value)
    if kind is not list and kind is not dict:
        return ITEM_BYTES
    total = 0
    stack: list[Any] = [value]
    while stack and total <= most:
        item = stack.pop()
        kind = type(item)
        if kind is str:
            total += len(item) + 2
        elif kind is list:
            total += ITEM_BYTES * len(item)
            stack.extend(item)
        elif kind is dict:
            total += sum(map(len, item)) + ITEM_BYTES * len(item)
            stack.extend(item.values())
        else:
            total += ITEM_BYTES
    return total


class LargeValues:
    """The large values of one user's executions."""

    def __init__(self, user: AbstractBaseUser) -> None:
        self._user = user
        self._read = lru_cache(CACHED_VALUES)(self._read_file)

    def keep(self, value: JSON, *, key: str) -> JSON:
        """Return the value, or a reference to a file with it. Once per key: a second attempt finds the file."""
        if not is_large(value):
            return value
        content = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
        try:
            file = files.save(
                self._user, f"{FOLDER}/{key}.json", io.BytesIO(content), number=True, key=f"value:{key}"
            )
        except WorkspaceError as error:
            raise ValueNotStored(
                f"A value of {len(content):,} bytes is too large to pass on, and it could not be stored "
                f"in the workspace: {error.message}"
            ) from error
        return {NOTE_KEY: True, "file": file.reference, "bytes": len(content)}

    def load(self, value: JSON) -> JSON:
        """Return the value a reference stands for; any other value as it is."""
        reference = reference_of(value)
        return value if reference is None else self._read(reference)

    def _read_file(self, reference: str) -> JSON:
        try:
            file = files.find(self._user, file_id=reference.removeprefix("workspace://"))
            return json.loads(files.read_range(file))
        except (Refusal, ValueError) as error:
            raise ValueNotStored(
                f"A large value was stored in {reference}, which no longer exists."
            ) from error


def reference_of(value: JSON) -> str | None:
    if not isinstance(value, dict) or value.get(NOTE_KEY) is not True:
        return None
    reference = value.get("file")
    return reference if isinstance(reference, str) else None


def shown_inputs(values: Mapping[str, JSON], secret: Collection[str] = ()) -> dict[str, JSON]:
    """Return the inputs for display in a row: secrets redacted, large values replaced by their size."""
    return {name: REDACTED if name in secret else shown_input(value) for name, value in values.items()}


def shown_input(value: JSON) -> JSON:
    if not is_large(value):
        return value
    return {NOTE_KEY: True, "bytes": size_of(value, limits.MAX_NODE_OUTPUT_BYTES)}
