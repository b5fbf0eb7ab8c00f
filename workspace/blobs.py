"""File content in storage, under random keys."""

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
from datetime import timedelta
from typing import Any, BinaryIO, Protocol, runtime_checkable

import structlog
from django.conf import settings
from django.core.files.base import File
from django.core.files.storage import FileSystemStorage, default_storage
from django.db import transaction
from django.utils import timezone

from durable import database
from durable.database import outside_wait
from workspace import limits
from workspace.errors import ContentGone, FileTooLarge, QuotaExceeded
from workspace.media_types import HEAD_BYTES, detect
from workspace.models import LooseBlob
from workspace.virus_scanner import Scan, begin_scan

log = structlog.get_logger(__name__)
SPOOL_BYTES = 1024 * 1024


@runtime_checkable
class Readable(Protocol):
    """Anything that can be read in pieces."""

    def read(self, size: int = -1, /) -> bytes: ...


Content = bytes | Readable | Iterable[bytes]


@dataclass(frozen=True, kw_only=True)
class StoredBlob:
    """Content that was written, with its size, hash and detected type."""

    blob: str
    size: int
    sha256: str
    media_type: str


def store_blob(content: Content, *, name: str, room: int) -> StoredBlob:
    """Write content under a new key and have it scanned; it is a LooseBlob until a file owns it.

    Raises FileTooLarge, QuotaExceeded, FileInfected or ScannerUnavailable; then nothing is left in storage.
    """
    if room <= 0:
        raise QuotaExceeded
    blob = f"workspace/{secrets.token_hex(1)}/{secrets.token_hex(16)}"
    LooseBlob.objects.create(blob=blob)
    try:
        with storage_wait(), scanning() as scan:
            measured = MeasuredReader(as_readable(content), room=room, scan=scan)
            stored = default_storage.save(blob, File(measured, name=blob))  # type: ignore[arg-type]
            if scan:
                scan.finish()
        assert stored == blob, "a random key is never taken"
    except BaseException:
        remove_blob(blob)
        raise
    media_type = detect(bytes(measured.head), name)
    return StoredBlob(
        blob=blob, size=measured.size, sha256=measured.digest.hexdigest(), media_type=media_type
    )


def open_blob(blob: str) -> BinaryIO:
    """Open the content for reading, downloaded completely if it is on S3; raises ContentGone."""
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
    """Open the content for reading from `start` on; from S3 only that part is downloaded. Raises ContentGone."""
    content = find_blob(blob)
    if not is_on_s3(content):
        content.seek(start)
        return content
    with content:
        return fetch_part(content, start, length) if length else io.BytesIO()


def is_on_s3(content: BinaryIO) -> bool:
    """Return whether the content is on S3, whose library is loaded only if it is used."""
    storage = sys.modules.get("storages.backends.s3")
    return storage is not None and isinstance(content, storage.S3File)


def fetch_part(content: Any, start: int, length: int) -> BinaryIO:
    """Download a part to a temporary file, so that a slow reader holds no connection to S3."""
    part = tempfile.SpooledTemporaryFile(max_size=SPOOL_BYTES)  # noqa: SIM115 (its reader closes it)
    with outside_wait(), content.obj.get(Range=f"bytes={start}-{start + length - 1}")["Body"] as body:
        shutil.copyfileobj(body, part)
    part.seek(0)
    return part  # type: ignore[return-value]


def release_blob(blob: str) -> None:
    """Mark content as unused in the current transaction; it is removed after the commit."""
    LooseBlob.objects.get_or_create(blob=blob)
    transaction.on_commit(functools.partial(remove_blob, blob))


def remove_blob(blob: str) -> bool:
    """Remove unused content; False if storage failed, and the purge task tries again later."""
    try:
        with storage_wait():
            default_storage.delete(blob)
    except storage_errors() as error:
        log.warning("blob not removed", blob=blob, error=str(error))
        return False
    LooseBlob.objects.filter(blob=blob).delete()
    return True


def storage_wait() -> AbstractContextManager[None]:
    """Return the context for storage operations: remote storage and a virus scanner are outside waits."""
    local = isinstance(default_storage, FileSystemStorage) and not settings.COPILOT_UPLOAD_SCANNER
    return contextlib.nullcontext() if local else outside_wait()


@contextlib.contextmanager
def scanning() -> Iterator[Scan | None]:
    """Open a scan if there is a scanner, and close its connection whatever happens."""
    scan = begin_scan()
    try:
        yield scan
    finally:
        if scan:
            scan.abandon()


def storage_errors() -> tuple[type[Exception], ...]:
    """Return the errors of an unreachable storage, including those of S3's library if it is loaded."""
    boto = sys.modules.get("botocore.exceptions")
    return (OSError, boto.BotoCoreError, boto.ClientError) if boto else (OSError,)


def as_readable(content: Content) -> Readable:
    if isinstance(content, (bytes, bytearray, memoryview)):
        return io.BytesIO(content)
    if isinstance(content, Readable):
        return content
    return PiecesReader(iter(content))


class PiecesReader:
    """Reads pieces of bytes as one stream."""

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
    """Hashes, counts and has scanned what is read; raises FileTooLarge or QuotaExceeded over the limits."""

    def __init__(self, source: Readable, *, room: int, scan: Scan | None = None) -> None:
        self.source = source
        self.room = room
        self.scan = scan
        self.size = 0
        self.digest = hashlib.sha256()
        self.head = bytearray()

    def readable(self) -> bool:
        return True

    def read(self, size: int | None = -1, /) -> bytes:
        """Read `size` bytes, fewer only at the end: S3's library takes a short read for the end."""
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
        """Read once from the source and measure it."""
        block = self.source.read(size)
        self.size += len(block)
        if self.size > limits.MAX_FILE_BYTES:
            raise FileTooLarge(f"One file may have {limits.MAX_FILE_BYTES // 1024**2} MB; this one has more.")
        if self.size > self.room:
            raise QuotaExceeded
        self.digest.update(block)
        self.head += block[: HEAD_BYTES - len(self.head)]
        if self.scan:
            self.scan.feed(block)
        return block


def purge_deleted(older_than_seconds: float = limits.LOOSE_BLOB_SECONDS) -> int:
    """Remove a batch of content left by deletions and interrupted uploads; return how many."""
    before = timezone.now() - timedelta(seconds=older_than_seconds)
    loose = LooseBlob.objects.filter(created_at__lte=before).order_by("created_at")[: limits.PURGE_BATCH]
    return sum(database.run_each(loose, lambda row: remove_blob(row.blob), what="Removing a loose file"))
