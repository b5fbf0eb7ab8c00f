"""Previews of values that may be huge or contain files or secrets; the complete value is saved to a file."""

from __future__ import annotations

import io
import tempfile
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, BinaryIO, Protocol

from django.contrib.auth.models import AbstractBaseUser

from durable import storable
from durable.redaction import REDACTED, ValuePath
from workspace import files, limits
from workspace.data_uris import HEADER, DataUris
from workspace.errors import WorkspaceError
from workspace.json_encoding import json_pieces, plain

JSON_TYPE = "application/json"
SPOOL_BYTES = 1024 * 1024
FOLDER = "results"


class Keeper(Protocol):
    """Saves what is too large to show to one user's files."""

    def keep(self, content: BinaryIO, *, name: str, media_type: str) -> str:
        """Save a file and return its `workspace://` reference; raises FileNotStored."""
        ...

    def keep_data_uris(self, text: str) -> str:
        """Return the text with each data URI saved as a file and replaced by its reference; raises FileNotStored."""
        ...


class FileNotStored(Exception):
    """The file could not be saved."""


class KeepsNothing:
    """Saves nothing, for visitors without an account; a note says so."""

    def keep(self, content: BinaryIO, *, name: str, media_type: str) -> str:
        raise FileNotStored("there is no account to save it for")

    def keep_data_uris(self, text: str) -> str:
        raise FileNotStored("there is no account to save it for")


def show(value: Any, keeper: Keeper, *, name: str) -> Any:
    """Return the value as JSON that is small enough for a model; notes name the file with the complete value.

    Small values are returned as they are. Secrets are removed, also in the file.
    """
    texts = _Texts(keeper)
    try:
        preview = _Preview(texts, "")
        shown = preview.of(value, ValuePath(), 0)
        if not preview.incomplete:
            return shown
    except _TooBig:
        pass
    whole = _keep_whole(value, texts, keeper, name)
    try:
        return _Preview(texts, whole.note).of(value, ValuePath(), 0)
    except _TooBig:
        return _only_the_start(value, texts, whole)


@dataclass(frozen=True, kw_only=True)
class _Whole:
    """Where the complete value was saved, if at all."""

    reference: str | None
    size: int
    note: str


def _keep_whole(value: Any, texts: _Texts, keeper: Keeper, name: str) -> _Whole:
    size = 0
    with tempfile.SpooledTemporaryFile(max_size=SPOOL_BYTES) as file:
        try:
            for piece in json_pieces(value, texts.convert):
                size += file.write(piece.encode())
                if size > limits.MAX_KEPT_OUTPUT_BYTES:
                    raise FileNotStored(f"it is larger than {limits.MAX_KEPT_OUTPUT_BYTES:,} bytes")
            file.seek(0)
            reference = keeper.keep(file, name=f"{name}.json", media_type=JSON_TYPE)  # type: ignore[arg-type]
        except FileNotStored as error:
            return _Whole(reference=None, size=size, note=f"the rest was not saved: {error}")
    return _Whole(reference=reference, size=size, note=f"the whole result is in {reference}")


def _only_the_start(value: Any, texts: _Texts, whole: _Whole) -> dict[str, Any]:
    """Return only the beginning of the JSON text, and how to read more."""
    text = io.StringIO()
    for piece in islice(json_pieces(value, texts.convert), limits.MAX_OUTPUT_NODES):
        text.write(piece)
        if text.tell() >= limits.OUTPUT_START_CHARACTERS:
            break
    start = text.getvalue()[: limits.OUTPUT_START_CHARACTERS]
    shown = {
        "preview": start,
        "note": f"Only the first {len(start):,} of {whole.size:,} characters are shown; {whole.note}.",
    }
    if whole.reference is not None:
        shown["whole"] = whole.reference
        shown["how_to_read"] = (
            f"Read it page by page with read_workspace_file: file_id {whole.reference!r}, offset and length."
        )
    return shown


class _TooBig(Exception):
    """The value is too big to show even with its long parts cut."""


class _Texts:
    """The texts of one value, each converted once."""

    def __init__(self, keeper: Keeper) -> None:
        self.keeper = keeper
        self.converted: dict[int, str] = {}

    def convert(self, text: str) -> str:
        """Replace data URIs by references, up to a limit."""
        header = HEADER.search(text) if ";base64," in text else None
        if header is None:
            return text
        known = self.converted.get(id(text))  # the value keeps the text alive, so its id is unique
        if known is not None:
            return known
        if len(self.converted) >= limits.MAX_KEPT_DATA_URIS:
            return text
        try:
            result = self.keeper.keep_data_uris(text)
        except FileNotStored as error:
            result = f"[{header['type'] or 'file'}, {len(text):,} characters as base64: not saved, {error}]"
        self.converted[id(text)] = result
        return result


@dataclass
class _Preview:
    """Builds the preview within a size limit; the depth is limited, so recursion is safe."""

    texts: _Texts
    where: str
    incomplete: bool = False
    characters: int = 0
    nodes: int = 0
    path: set[int] = field(default_factory=set)

    def of(self, value: Any, place: ValuePath | None, depth: int) -> Any:
        item = REDACTED if place is None else plain(value)
        self._spend(1)
        if isinstance(item, str):
            return self._text(item)
        if not isinstance(item, dict | list):
            return item
        if depth >= limits.MAX_OUTPUT_DEPTH:
            return self._left_out(f"deeper than {limits.MAX_OUTPUT_DEPTH} levels")
        if id(value) in self.path:
            return "[the same as above]"
        self.path.add(id(value))
        try:
            build: Callable[..., Any] = self._dict if isinstance(item, dict) else self._list
            return build(item, place or ValuePath(), depth)
        finally:
            self.path.discard(id(value))

    def _dict(self, value: dict[Any, Any], place: ValuePath, depth: int) -> dict[str, Any]:
        shown: dict[str, Any] = {}
        for key, item in value.items():
            name = self._text(storable.text(str(key)))
            shown[name] = self.of(item, place.below(name, item), depth + 1)
        return shown

    def _list(self, value: list[Any], place: ValuePath, depth: int) -> Any:
        if len(value) <= limits.MAX_OUTPUT_ITEMS:
            return [self.of(item, place, depth + 1) for item in value]
        self.incomplete = True
        first = value[: limits.OUTPUT_FIRST_ITEMS]
        return {
            "preview": f"{len(value)} items, first {len(first)}; {self.where}.",
            "first": [self.of(item, place, depth + 1) for item in first],
        }

    def _text(self, text: str) -> str:
        text = self.texts.convert(text)
        left = len(text) - limits.MAX_OUTPUT_TEXT_CHARACTERS
        shown = storable.text(text, most=limits.MAX_OUTPUT_TEXT_CHARACTERS)
        self._spend(len(shown))
        return shown + self._left_out(f"{left:,} more characters") if left > 0 else shown

    def _left_out(self, what: str) -> str:
        self.incomplete = True
        return f"[… {what}; {self.where}]"

    def _spend(self, characters: int) -> None:
        self.nodes += 1
        self.characters += characters
        if self.characters > limits.MAX_OUTPUT_CHARACTERS or self.nodes > limits.MAX_OUTPUT_NODES:
            raise _TooBig


class WorkspaceKeeper:
    """Implements `workspace.preview.Keeper` for one user. Saving the same name again replaces the content, so a
    repeated call leaves one file."""

    def __init__(
        self,
        user: AbstractBaseUser,
        session_id: uuid.UUID | None = None,
        outside_sources: Sequence[str] = (),
    ) -> None:
        self.user = user
        self.session_id = session_id
        self.outside_sources = outside_sources
        self.data_uris = DataUris(user=user, session_id=session_id, folder=FOLDER)

    def keep(self, content: BinaryIO, *, name: str, media_type: str) -> str:
        try:
            file = files.save(
                self.user,
                f"{FOLDER}/{name}",
                content,
                session_id=self.session_id,
                overwrite=True,
                outside_sources=self.outside_sources,
            )
        except WorkspaceError as error:
            raise FileNotStored(error.message) from error
        return file.reference

    def keep_data_uris(self, text: str) -> str:
        return self.data_uris.move_text(text)
