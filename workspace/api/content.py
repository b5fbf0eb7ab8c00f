"""/api/files/{id}/content: download a file, served so that no browser runs it."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO

from django.core.handlers.asgi import ASGIRequest
from django.http import HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.utils.http import content_disposition_header, parse_etags
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request

from workspace import files
from workspace.api.files import OwnFiles
from workspace.errors import BadRange
from workspace.models import WorkspaceFile

BLOCK_BYTES = 256 * 1024
INLINE = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp", "text/plain"})
ONE_RANGE = re.compile(
    r"bytes\s*+=\s*+(?P<first>[0-9]{0,18}+)\s*+-\s*+(?P<last>[0-9]{0,18}+)", re.IGNORECASE | re.ASCII
)


class Content(OwnFiles):
    """A file's content."""

    @extend_schema(
        summary="Download a file",
        responses={(200, "*/*"): OpenApiTypes.BINARY, (206, "*/*"): OpenApiTypes.BINARY},
    )
    def get(self, request: Request, **kwargs: Any) -> HttpResponseBase:
        """Return the content, or the part a Range header asks for. Only pictures and plain text open in the browser."""
        file = self.own_file()
        etag = f'"{file.sha256}"'
        if etag in parse_etags(request.headers.get("If-None-Match", "")):
            return secured(HttpResponse(status=304), file, etag)
        try:
            part = asked_part(request, file, etag)
        except BadRange:
            answer = HttpResponse(status=BadRange.status, headers={"Content-Range": f"bytes */{file.size}"})
            return secured(answer, file, etag)
        return secured(send(request, file, part), file, etag)


def asked_part(request: Request, file: WorkspaceFile, etag: str) -> ByteRange | None:
    """Return the requested part; None for the whole, also if the client has another version."""
    condition = request.headers.get("If-Range")
    if condition and condition != etag:
        return None
    return parse_range(request.headers.get("Range", ""), file.size)


def send(request: Request, file: WorkspaceFile, part: ByteRange | None) -> StreamingHttpResponse:
    """Stream the bytes in blocks; under ASGI they are read in a thread, so that a download does not block."""
    whole = part or ByteRange(start=0, end=file.size)
    content = files.open_part(file, part.start, part.length) if part else files.open_file(file)
    asynchronous = isinstance(request._request, ASGIRequest)
    blocks = read_async(content, whole.length) if asynchronous else read(content, whole.length)
    response = StreamingHttpResponse(blocks, status=206 if part else 200)
    response["Content-Length"] = str(whole.length)
    if part:
        response["Content-Range"] = f"bytes {part.start}-{part.end - 1}/{file.size}"
    return response


def read(content: BinaryIO, length: int) -> Iterator[bytes]:
    with content:
        while length > 0 and (block := content.read(min(length, BLOCK_BYTES))):
            length -= len(block)
            yield block


async def read_async(content: BinaryIO, length: int) -> AsyncIterator[bytes]:
    with content:
        while length > 0 and (block := await asyncio.to_thread(content.read, min(length, BLOCK_BYTES))):
            length -= len(block)
            yield block


def secured(response: HttpResponseBase, file: WorkspaceFile, etag: str) -> HttpResponseBase:
    """Set the headers that keep uploaded content from running as part of the site."""
    inline = file.media_type in INLINE
    text = file.media_type.startswith("text/")
    response["Content-Type"] = f"{file.media_type}; charset=utf-8" if text else file.media_type
    response["Content-Disposition"] = content_disposition_header(not inline, file.name) or "inline"
    response["X-Content-Type-Options"] = "nosniff"
    response["Content-Security-Policy"] = "sandbox; default-src 'none'"
    response["Cross-Origin-Resource-Policy"] = "same-origin"
    response["Cache-Control"] = "private, no-cache"
    response["Accept-Ranges"] = "bytes"
    response["ETag"] = etag
    return response


@dataclass(frozen=True, kw_only=True)
class ByteRange:
    """The bytes from `start` up to but excluding `end`."""

    start: int
    end: int

    @property
    def length(self) -> int:
        return self.end - self.start


def parse_range(header: str, size: int) -> ByteRange | None:
    """Return the range; None for the whole (no header, several ranges, another unit). Raises BadRange."""
    match = ONE_RANGE.fullmatch(header.strip())
    if match is None or (not match["first"] and not match["last"]):
        return None
    if not match["first"]:
        start, end = max(0, size - int(match["last"])), size
    else:
        start = int(match["first"])
        end = min(int(match["last"]) + 1, size) if match["last"] else size
        if match["last"] and int(match["last"]) < start:
            return None  # not a valid range, which HTTP says to ignore
    if start >= size or end <= start:
        raise BadRange
    return ByteRange(start=start, end=end)
