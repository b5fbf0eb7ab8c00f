"""Content in storage under random keys, measured while it is written."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import io
import secrets
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, BinaryIO, Protocol, runtime_checkable

import structlog
from django.core.files.base import File
from django.core.files.storage import FileSystemStorage, default_storage
from django.db import transaction

from durable import limits
from durable.connections import outside_wait
from workspace.errors import ContentGone, FileTooLarge, QuotaExceeded
from workspace.media_types import HEAD_BYTES, detect
from workspace.models import LooseBlob

log = structlog.get_logger(__name__)
SPOOL_BYTES = 1024 * 1024


@runtime_checkable
class Readable(Protocol):
    """Anything that gives its bytes in pieces."""

    def read(self, size: int = -1, /) -> bytes: ...


Content = bytes | Readable | Iterable[bytes]


@dataclass(frozen=True, kw_only=True)
class StoredBlob:
    """What was written, and what it turned out to be."""

    blob: str
    size: int
    sha256: str
    media_type: str


def store_blob(content: Content, *, name: str, room: int) -> StoredBlob:
    """Write content under a fresh key. It stays a LooseBlob until a file takes it over in its own transaction."""
    if room <= 0:
        raise QuotaExceeded
    blob = f"workspace/{secrets.token_hex(1)}/{secrets.token_hex(16)}"
    LooseBlob.objects.create(blob=blob)
    measured = MeasuredReader(as_readable(content), room=room)
    try:
        with storage_wait():
            stored = default_storage.save(blob, File(measured, name=blob))  # type: ignore[arg-type]
        assert stored == blob, "a random key is never taken"
    except BaseException:
        remove_blob(blob)
        raise
    media_type = detect(bytes(measured.head), name)
    return StoredBlob(
        blob=blob, size=measured.size, sha256=measured.digest.hexdigest(), media_type=media_type
    )


def open_blob(blob: str) -> BinaryIO:
    """The content for reading, fetched as a whole where it is on S3; raises ContentGone."""
    content: Any = find_blob(blob)
    if is_on_s3(content):
        with outside_wait():
            content.file  # noqa: B018 - its first use fetches it
    return content  # type: ignore[no-any-return]


def find_blob(blob: str) -> BinaryIO:
    try:
        with storage_wait():
            return default_storage.open(blob, "rb")  # type: ignore[return-value]
    except FileNotFoundError:
        raise ContentGone from None


def open_part(blob: str, start: int, length: int) -> BinaryIO:
    """The content for reading from `start` on; of S3 only the part is fetched. Raises ContentGone."""
    content = find_blob(blob)
    if not is_on_s3(content):
        content.seek(start)
        return content
    with content:
        return fetch_part(content, start, length) if length else io.BytesIO()


def is_on_s3(content: BinaryIO) -> bool:
    """Whether reading it would fetch all of it first; S3's storage is only known where it is in use."""
    storage = sys.modules.get("storages.backends.s3")
    return storage is not None and isinstance(content, storage.S3File)


def fetch_part(content: Any, start: int, length: int) -> BinaryIO:
    """Kept at hand, so that a slow reader holds no connection to S3."""
    part = tempfile.SpooledTemporaryFile(max_size=SPOOL_BYTES)  # noqa: SIM115 (its reader closes it)
    with outside_wait(), content.obj.get(Range=f"bytes={start}-{start + length - 1}")["Body"] as body:
        shutil.copyfileobj(body, part)
    part.seek(0)
    return part  # type: ignore[return-value]


def release_blob(blob: str) -> None:
    """Give content up inside the transaction that no longer needs it; it is removed once that is committed."""
    LooseBlob.objects.get_or_create(blob=blob)
    transaction.on_commit(functools.partial(remove_blob, blob))


def remove_blob(blob: str) -> bool:
    """Remove a loose blob. What storage refuses now stays a LooseBlob for the cleaning job."""
    try:
        with storage_wait():
            default_storage.delete(blob)
    except storage_errors() as error:
        log.warning("blob not removed", blob=blob, error=str(error))
        return False
    LooseBlob.objects.filter(blob=blob).delete()
    return True


def storage_wait() -> AbstractContextManager[None]:
    """What to be inside while storage works: a disk is ours, a bucket is the outside."""
    return contextlib.nullcontext() if isinstance(default_storage, FileSystemStorage) else outside_wait()


def storage_errors() -> tuple[type[Exception], ...]:
    """What a storage raises when it cannot be reached; S3's library only where it is in use."""
    boto = sys.modules.get("botocore.exceptions")
    return (OSError, boto.BotoCoreError, boto.ClientError) if boto else (OSError,)


def as_readable(content: Content) -> Readable:
    if isinstance(content, (bytes, bytearray, memoryview)):
        return io.BytesIO(content)
    if isinstance(content, Readable):
        return content
    return PiecesReader(iter(content))


class PiecesReader:
    """Pieces of bytes read as one stream."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self.pieces = pieces
        self.rest = b""

    def read(self, size: int = -1, /) -> bytes:
        while not self.rest:
            piece = next(self.pieces, None)
            if piece is None:
                return b""
            self.rest = piece
        if size < 0:
            size = len(self.rest)
        taken, self.rest = self.rest[:size], self.rest[size:]
        return taken


class MeasuredReader(io.RawIOBase):
    """A stream that hashes and counts what passes through, and stops what is too much."""

    def __init__(self, source: Readable, *, room: int) -> None:
        self.source = source
        self.room = room
        self.size = 0
        self.digest = hashlib.sha256()
        self.head = bytearray()

    def readable(self) -> bool:
        return True

    def read(self, size: int | None = -1, /) -> bytes:
        """As much as asked for unless the end has come: S3's library takes a short read for the end."""
        wanted = sys.maxsize if size is None or size < 0 else size
        block = self.take(min(wanted, File.DEFAULT_CHUNK_SIZE))
        if len(block) == wanted or not block:
            return block
        pieces = bytearray(block)
        while len(pieces) < wanted and (
            block := self.take(min(wanted - len(pieces), File.DEFAULT_CHUNK_SIZE))
        ):
            pieces += block
        return bytes(pieces)

    def take(self, size: int) -> bytes:
        """One read of the source, measured."""
        block = self.source.read(size)
        self.size += len(block)
        if self.size > limits.MAX_FILE_BYTES:
            raise FileTooLarge(f"One file may have {limits.MAX_FILE_BYTES // 1024**2} MB; this one has more.")
        if self.size > self.room:
            raise QuotaExceeded
        self.digest.update(block)
        self.head += block[: HEAD_BYTES - len(self.head)]
        return block
