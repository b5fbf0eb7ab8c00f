"""Workspace files that go with a message: whose they are, and how clients name them."""

from __future__ import annotations

import base64
import binascii
import hashlib
import mimetypes
import re
import uuid
from collections.abc import Iterable, Sequence
from typing import Any
from urllib.parse import unquote_to_bytes

from django.http import Http404
from rest_framework.exceptions import ValidationError

from chat.owners import Owner
from workspace import files
from workspace.models import WorkspaceFile

ID = r"(?P<id>[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})"
REFERENCE = re.compile(
    rf"workspace://{ID}|(?:https?://[^/]+)?/api/files/{ID.replace('?P<id>', '?P<id2>')}/content"
)
DATA_URL = re.compile(r"data:(?P<type>[\w.+-]+/[\w.+-]+)?(?:;[\w-]+=[^;,]*)*(?P<base64>;base64)?,", re.ASCII)
NAMELESS = "attachment"


def check(owner: Owner, ids: Iterable[uuid.UUID]) -> list[str]:
    """The same ids as text, when all of them are the owner's files; Http404, also for what is another's."""
    wanted = list(dict.fromkeys(ids))
    if len(found(owner, wanted)) < len(wanted):
        raise Http404
    return [str(file_id) for file_id in wanted]


def found(owner: Owner, ids: Sequence[uuid.UUID | str]) -> dict[str, WorkspaceFile]:
    """Those of the files that are there and the owner's."""
    if owner.user is None or not ids:
        return {}
    rows = WorkspaceFile.objects.filter(user=owner.user, pk__in=ids)
    return {str(file.pk): file for file in rows}


def take_in(owner: Owner, parts: Sequence[dict[str, Any]], *, key: str) -> list[uuid.UUID]:
    """The ids of the files an AI SDK message carries: references as they are, data URLs after saving them.

    Once per `key`: the same message again finds the files it made the first time.
    """
    return [
        referenced(part) or save(owner, part, key=f"message:{key}:{place}")
        for place, part in enumerate(parts)
    ]


def referenced(part: dict[str, Any]) -> uuid.UUID | None:
    match = REFERENCE.fullmatch(part["url"])
    return uuid.UUID(match["id"] or match["id2"]) if match else None


def save(owner: Owner, part: dict[str, Any], *, key: str) -> uuid.UUID:
    match = DATA_URL.match(part["url"])
    if match is None:
        message = "A file is named by workspace://id, /api/files/id/content or a data: URL. Upload it first."
        raise ValidationError({"messages": [message]})
    if owner.user is None:
        raise ValidationError({"messages": ["Files can be sent only with an account. Log in first."]})
    name = name_in(part) or NAMELESS + (mimetypes.guess_extension(match["type"] or "") or "")
    content = decoded(part["url"][match.end() :], is_base64=bool(match["base64"]))
    digest = hashlib.sha256(content).hexdigest()[
        :16
    ]  # an edited message may bring another file in the same place
    return files.save(owner.user, name, content, number=True, key=f"{key}:{digest}").pk


def name_in(part: dict[str, Any]) -> str:
    """The name a client gave the file; empty without one."""
    name = part.get("filename") or ""
    if not isinstance(name, str):
        raise ValidationError({"messages": ["A file's `filename` must be a text."]})
    return name


def decoded(data: str, *, is_base64: bool) -> bytes:
    try:
        raw = unquote_to_bytes(data)
        return base64.b64decode(raw, validate=True) if is_base64 else raw
    except (binascii.Error, ValueError):
        raise ValidationError({"messages": ["A file's data: URL cannot be read."]}) from None


def ui_part(file: WorkspaceFile) -> dict[str, Any]:
    """The file as a part of an AI SDK message."""
    return {
        "type": "file",
        "mediaType": file.media_type,
        "filename": file.name,
        "url": f"/api/files/{file.pk}/content",
    }
