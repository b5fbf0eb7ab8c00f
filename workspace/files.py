"""Actions on a user's files: save, find, read, rename, delete and list."""

from __future__ import annotations

import base64
import binascii
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import BinaryIO

from django.contrib.auth.models import AbstractBaseUser
from django.db.models import F, QuerySet, Value
from django.db.models.functions import Left

from durable import storable
from durable.database import in_transaction
from workspace import blobs, limits, quotas
from workspace.blobs import Content, StoredBlob, open_blob, release_blob, remove_blob, store_blob
from workspace.errors import FileMissing, PathTaken
from workspace.models import LooseBlob, WorkspaceFile
from workspace.names import clean_path, numbered

MAX_NUMBERED = 1_000


@dataclass(frozen=True, kw_only=True)
class FilePage:
    """One page of a listing; `next` is the cursor of the page after it, or None."""

    files: list[WorkspaceFile]
    next: str | None


def save(
    user: AbstractBaseUser,
    path: str,
    content: Content,
    *,
    session_id: uuid.UUID | None = None,
    overwrite: bool = False,
    number: bool = False,
    key: str | None = None,
    outside_sources: Sequence[str] = (),
) -> WorkspaceFile:
    """Stream content into a file under a cleaned path; raises WorkspaceError.

    If the path is taken, `overwrite` replaces the content of that file (its id stays), `number` uses the next free
    `name (2)`, else PathTaken is raised. Once per `key`: a second call returns the file of the first. Call it outside
    transactions: the content is written before the row. `outside_sources` names third-party sources of the content.
    """
    if key and (made := WorkspaceFile.objects.filter(user_id=user.pk, key=key).first()):
        return made
    path = clean_path(path)
    replaced = WorkspaceFile.objects.filter(user_id=user.pk, path=path).first() if overwrite else None
    room = quotas.room_left(user.pk) + (replaced.size if replaced else 0)
    stored = store_blob(content, name=path, room=room)
    try:
        return record(
            user,
            path,
            stored,
            session_id=session_id,
            overwrite=overwrite,
            number=number,
            key=key,
            outside_sources=outside_sources,
        )
    except BaseException:
        remove_blob(stored.blob)
        raise


@in_transaction
def record(
    user: AbstractBaseUser,
    path: str,
    stored: StoredBlob,
    *,
    session_id: uuid.UUID | None,
    overwrite: bool,
    number: bool,
    key: str | None,
    outside_sources: Sequence[str] = (),
) -> WorkspaceFile:
    """Create or replace the file of stored content, under the lock of the user's usage."""
    usage = quotas.lock_usage(user.pk)
    mine = WorkspaceFile.objects.filter(user_id=user.pk)
    if key and (made := mine.filter(key=key).first()):
        release_blob(stored.blob)
        return made
    taken = mine.filter(path=path).first()
    if taken and number:
        path, taken = free_path(mine, path), None
    if taken and not overwrite:
        raise PathTaken(f"There is a file {path!r} already.")
    quotas.charge(usage, size=stored.size - (taken.size if taken else 0), files=0 if taken else 1)
    if taken:
        release_blob(taken.blob)
    file = taken or WorkspaceFile(user_id=user.pk, path=path)
    file.blob, file.size, file.sha256, file.media_type = (
        stored.blob,
        stored.size,
        stored.sha256,
        stored.media_type,
    )
    file.session_id, file.key = session_id or file.session_id, key
    file.outside_sources = list(outside_sources)
    file.save()
    LooseBlob.objects.filter(blob=stored.blob).delete()
    return file


def find(
    user: AbstractBaseUser, *, file_id: uuid.UUID | str | None = None, path: str | None = None
) -> WorkspaceFile:
    """Return the user's file by id or by path; raises FileMissing, also for someone else's file."""
    mine = WorkspaceFile.objects.filter(user_id=user.pk)
    found = None
    if file_id is not None and (known := as_uuid(file_id)):
        found = mine.filter(id=known).first()
    elif path is not None:
        found = mine.filter(path=clean_path(path)).first()
    if found is None:
        raise FileMissing
    return found


def open_file(file: WorkspaceFile) -> BinaryIO:
    """Open the content for reading; the caller closes it. Raises ContentGone."""
    return open_blob(file.blob)


def open_part(file: WorkspaceFile, start: int, length: int) -> BinaryIO:
    """Open the content for reading `length` bytes from `start` on; the caller closes it. Raises ContentGone."""
    return blobs.open_part(file.blob, start, length)


def read_range(file: WorkspaceFile, offset: int = 0, length: int | None = None) -> bytes:
    """Return a part of the content; it is shorter at the end of the file, and empty behind it."""
    offset = max(0, offset)
    length = max(0, file.size - offset if length is None else min(length, file.size - offset))
    with open_part(file, offset, length) as content:
        return content.read(length)


@in_transaction
def rename(file: WorkspaceFile, path: str) -> WorkspaceFile:
    """Move a file to another path; raises PathTaken."""
    path = clean_path(path)
    quotas.lock_usage(file.user_id)
    if WorkspaceFile.objects.filter(user_id=file.user_id, path=path).exclude(id=file.id).exists():
        raise PathTaken(f"There is a file {path!r} already.")
    file.path = path
    file.save(update_fields=["path", "updated_at"])
    return file


@in_transaction
def delete(file: WorkspaceFile) -> None:
    """Delete a file; its content is removed after the commit. Idempotent."""
    quotas.lock_usage(file.user_id)
    WorkspaceFile.objects.filter(id=file.id).delete()


def list_files(
    user: AbstractBaseUser, prefix: str = "", cursor: str | None = None, limit: int = limits.FILES_PAGE
) -> FilePage:
    """Return a page of the user's files whose path starts with `prefix`, by path."""
    files = of_user(user, prefix)
    if cursor and (after := decode_cursor(cursor)):
        files = files.filter(path__gt=after)
    limit = max(1, min(limit, limits.MAX_FILES_PAGE))
    page = list(files.order_by("path")[: limit + 1])
    return FilePage(
        files=page[:limit], next=encode_cursor(page[limit - 1].path) if len(page) > limit else None
    )


def of_user(user: AbstractBaseUser, prefix: str = "") -> QuerySet[WorkspaceFile]:
    """Return the user's files with a path prefix, compared as text because SQLite's LIKE ignores case."""
    files = WorkspaceFile.objects.filter(user_id=user.pk)
    prefix = storable.text(prefix.lstrip("/"))
    if prefix:
        files = files.annotate(start=Left(F("path"), Value(len(prefix)))).filter(start=prefix)
    return files


def free_path(mine: QuerySet[WorkspaceFile], path: str) -> str:
    """Return the first free `name (2)`, `name (3)`, ...; raises PathTaken."""
    for count in range(2, MAX_NUMBERED):
        candidate = numbered(path, count)
        if not mine.filter(path=candidate).exists():
            return candidate
    raise PathTaken(f"There are too many files named like {path!r}.")


def as_uuid(value: uuid.UUID | str) -> uuid.UUID | None:
    if isinstance(value, uuid.UUID):
        return value
    try:
        return uuid.UUID(value)
    except ValueError:
        return None


def encode_cursor(path: str) -> str:
    return base64.urlsafe_b64encode(path.encode()).decode()


def decode_cursor(cursor: str) -> str | None:
    """Return the path in a cursor; None for an invalid one."""
    try:
        path = base64.urlsafe_b64decode(cursor.encode()).decode()
    except (binascii.Error, ValueError):
        return None
    return path if storable.is_text(path) else None
