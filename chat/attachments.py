"""Workspace files attached to messages."""

from __future__ import annotations

import base64
import binascii
import hashlib
import mimetypes
import re
import uuid
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any
from urllib.parse import quote, unquote_to_bytes

from django.contrib.auth.models import AbstractBaseUser
from django.http import Http404

from chat import limits
from chat.sessions import Owner
from durable.errors import InvalidFields
from workspace import files
from workspace.models import WorkspaceFile
from workspace.references import parse_references

ID = r"(?P<id>[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})"
REFERENCE = re.compile(
    rf"workspace://{ID}|(?:https?://[^/]+)?/api/files/{ID.replace('?P<id>', '?P<id2>')}/content"
)
DATA_URL = re.compile(r"data:(?P<type>[\w.+-]+/[\w.+-]+)?(?:;[\w-]+=[^;,]*)*(?P<base64>;base64)?,", re.ASCII)
NAMELESS = "attachment"


def check(owner: Owner, ids: Iterable[uuid.UUID]) -> list[str]:
    """Return the ids as strings, without duplicates; raise Http404 unless all are the owner's files."""
    wanted = list(dict.fromkeys(ids))
    if len(find(owner, wanted)) < len(wanted):
        raise Http404
    return [str(file_id) for file_id in wanted]


def find(owner: Owner, ids: Sequence[uuid.UUID | str]) -> dict[str, WorkspaceFile]:
    """Return the owner's files among these ids, by id."""
    if owner.user is None or not ids:
        return {}
    rows = WorkspaceFile.objects.filter(user=owner.user, pk__in=ids)
    return {str(file.pk): file for file in rows}


def save_all(owner: Owner, parts: Sequence[dict[str, Any]], *, key: str) -> list[uuid.UUID]:
    """Return the ids of the files in an AI SDK message; data URLs are saved as workspace files.

    Idempotent per `key`: the same message again finds the files saved the first time.
    """
    return [
        referenced(part) or save(owner, part, key=f"message:{key}:{number}")
        for number, part in enumerate(parts)
    ]


def referenced(part: dict[str, Any]) -> uuid.UUID | None:
    match = REFERENCE.fullmatch(part["url"])
    return uuid.UUID(match["id"] or match["id2"]) if match else None


def save(owner: Owner, part: dict[str, Any], *, key: str) -> uuid.UUID:
    match = DATA_URL.match(part["url"])
    if match is None:
        message = (
            "A file's URL must be workspace://id, /api/files/id/content or a data: URL. Upload it first."
        )
        raise InvalidFields({"messages": [message]})
    if owner.user is None:
        raise InvalidFields({"messages": ["Files can be sent only with an account. Log in first."]})
    name = name_in(part) or NAMELESS + (mimetypes.guess_extension(match["type"] or "") or "")
    content = decoded(part["url"][match.end() :], is_base64=bool(match["base64"]))
    digest = hashlib.sha256(content).hexdigest()[:16]  # an edited message may have another file at this index
    return files.save(owner.user, name, content, number=True, key=f"{key}:{digest}").pk


def name_in(part: dict[str, Any]) -> str:
    """Return the name the client gave the file, or an empty string."""
    name = part.get("filename") or ""
    if not isinstance(name, str):
        raise InvalidFields({"messages": ["A file's `filename` must be a string."]})
    return name


def decoded(data: str, *, is_base64: bool) -> bytes:
    try:
        raw = unquote_to_bytes(data)
        return base64.b64decode(raw, validate=True) if is_base64 else raw
    except (binascii.Error, ValueError):
        raise InvalidFields({"messages": ["A file's data: URL cannot be read."]}) from None


def ui_part(file: WorkspaceFile) -> dict[str, Any]:
    """Return the file as a part of an AI SDK message."""
    return {
        "type": "file",
        "mediaType": file.media_type,
        "filename": file.name,
        "url": f"/api/files/{file.pk}/content",
    }


def add_files_made(
    known: list[dict[str, str]],
    results: Iterable[Any],
    *,
    user: AbstractBaseUser | None,
    since: datetime | None,
) -> list[dict[str, str]]:
    """Return the known files and those that results refer to and that were made since the turn started."""
    ids = parse_references(list(results)) if user is not None and since is not None else []
    if not ids:
        return known
    rows = WorkspaceFile.objects.filter(user_id=user.pk, pk__in=ids, created_at__gte=since)  # type: ignore[union-attr]
    made = {row.pk: row for row in rows}
    found = {file["url"]: file for file in known}
    for row in (made[file_id] for file_id in ids if file_id in made):
        url = f"/api/files/{row.pk}/content#{quote(row.name)}"
        if len(found) < limits.MAX_FILES_MADE_PER_TURN:
            found.setdefault(url, {"url": url, "media_type": row.media_type})
    return list(found.values())
