"""Move base64 data URIs in values to workspace files."""

from __future__ import annotations

import binascii
import hashlib
import mimetypes
import re
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from django.contrib.auth.models import AbstractBaseUser

from workspace import files, limits
from workspace.errors import WorkspaceError
from workspace.models import WorkspaceFile
from workspace.nested_values import map_strings

HEADER = re.compile(
    r"data:(?P<type>[\w.+-]{1,60}/[\w.+-]{1,60})?(?:;[\w-]{1,40}=[^;,\s\"']{0,100}){0,5};base64,",
    re.IGNORECASE,
)
PAYLOAD = re.compile(r"(?P<data>[A-Za-z0-9+/_-]+)={0,2}")
URL_SAFE = bytes.maketrans(b"-_", b"+/")
STEP = 4 * 64 * 1024  # characters decoded at a time; a multiple of four


@dataclass(kw_only=True)
class DataUris:
    """Moves the data URIs of values into a user's workspace.

    Once per content: the file's key is a hash, so a second pass over the same value finds the same files.
    """

    user: AbstractBaseUser
    session_id: uuid.UUID | None = None
    folder: str = "results"
    files: list[WorkspaceFile] = field(default_factory=list)

    def move(self, value: Any) -> Any:
        """Return the value with each data URI replaced by a `workspace://` reference, or by a note if not saved."""
        return map_strings(value, self.move_text)

    def move_text(self, text: str) -> str:
        """Do the same for one text, decoding it in slices so that a long one is never copied whole."""
        pieces: list[str] = []
        end = 0
        for header in HEADER.finditer(text):
            payload = PAYLOAD.match(text, header.end())
            if header.start() < end or payload is None or (payload.end("data") - payload.start()) % 4 == 1:
                continue  # inside the one before, or not base64
            pieces += [
                text[end : header.start()],
                self.keep(text, payload.span("data"), header["type"] or ""),
            ]
            end = payload.end()
        return "".join([*pieces, text[end:]]) if pieces else text

    def keep(self, text: str, span: tuple[int, int], media_type: str) -> str:
        """Save one payload and return its replacement."""
        if len(self.files) >= limits.MAX_DATA_URIS:
            return "[file not kept: there are too many in one result]"
        digest, size = measure(text, span)
        path = f"{self.folder}/{digest[:16]}{mimetypes.guess_extension(media_type) or '.bin'}"
        key = f"data-uri:{digest}"
        try:
            file = files.save(
                self.user, path, decoded(text, span), session_id=self.session_id, number=True, key=key
            )
        except WorkspaceError as error:
            return f"[file of {size} bytes not kept: {error.message}]"
        self.files.append(file)
        return file.reference


def measure(text: str, span: tuple[int, int]) -> tuple[str, int]:
    """Return the hash and size of a payload."""
    digest, size = hashlib.sha256(), 0
    for block in decoded(text, span):
        digest.update(block)
        size += len(block)
    return digest.hexdigest(), size


def decoded(text: str, span: tuple[int, int]) -> Iterator[bytes]:
    """Yield the payload's bytes in blocks."""
    start, end = span
    for at in range(start, end, STEP):
        piece = text[at : min(at + STEP, end)].encode("ascii").translate(URL_SAFE)
        yield binascii.a2b_base64(piece + b"=" * (-len(piece) % 4))
