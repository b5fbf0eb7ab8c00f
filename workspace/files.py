"""The workspace's use-cases: save, find, read, rename, delete and list a user's files."""

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

from durable import limits
from durable.retrying import in_transaction
from workspace import blobs, quotas
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
    """Keep content under a cleaned path, streaming.

    When the path is taken: `overwrite` replaces that file's content (its id stays), `number` takes the next
    free `name (2)`, else PathTaken. Once per `key`: the second time returns the file of the first. Call it
    outside transactions: the content is written before the row. `outside_sources` say where content came from
    that is not its owner's.
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
    """Give stored content its file, under the lock of the user's usage."""
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
    """One of the user's own files by id or by path; raises FileMissing, also for what is another's."""
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
    """The content for reading, to be closed by the caller."""
    return open_blob(file.blob)


def open_part(file: WorkspaceFile, start: int, length: int) -> BinaryIO:
    """The content for reading from `start` on, of which so many bytes are wanted; to be closed by the caller."""
    return blobs.open_part(file.blob, start, length)


def read_range(file: WorkspaceFile, offset: int = 0, length: int | None = None) -> bytes:
    """A piece of the content; shorter than asked at the end, empty behind it."""
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
    """Remove a file. Its room is free at once; its content goes after commit. Twice is as good as once."""
    quotas.lock_usage(file.user_id)
    WorkspaceFile.objects.filter(id=file.id).delete()


def list_files(
    user: AbstractBaseUser, prefix: str = "", cursor: str | None = None, limit: int = limits.FILES_PAGE
) -> FilePage:
    """The user's files whose path begins with `prefix`, by path."""
    files = of_user(user, prefix)
    if cursor and (after := decode_cursor(cursor)):
        files = files.filter(path__gt=after)
    limit = max(1, min(limit, limits.MAX_FILES_PAGE))
    page = list(files.order_by("path")[: limit + 1])
    return FilePage(
        files=page[:limit], next=encode_cursor(page[limit - 1].path) if len(page) > limit else None
    )


def of_user(user: AbstractBaseUser, prefix: str = "") -> QuerySet[WorkspaceFile]:
    """The user's files below a prefix. Compared as text: SQLite's LIKE does not know upper from lower case."""
    files = WorkspaceFile.objects.filter(user_id=user.pk)
    prefix = prefix.lstrip("/").replace("\0", "")
    if prefix:
        files = files.annotate(start=Left(F("path"), Value(len(prefix)))).filter(start=prefix)
    return files


def free_path(mine: QuerySet[WorkspaceFile], path: str) -> str:
    """The first free `name (2)`, `name (3)`, ..."""
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
    """The path a cursor stands for; None for one that is not ours."""
    try:
        return base64.urlsafe_b64decode(cursor.encode()).decode().replace("\0", "")
    except (binascii.Error, ValueError):
        return None
