"""`workspace://<id>` references to files, valid for their owner only."""

from __future__ import annotations

import re
import uuid
from typing import Any

from django.contrib.auth.models import AbstractBaseUser

from workspace import limits
from workspace.models import WorkspaceFile
from workspace.nested_values import strings_in

REFERENCE = re.compile(
    r"workspace://([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})(?![0-9a-z-])", re.IGNORECASE
)


def parse_references(value: Any) -> list[uuid.UUID]:
    """Return the ids in a text or nested value, each once, in reading order."""
    found: dict[uuid.UUID, None] = {}
    for text in strings_in(value):
        if "workspace://" not in text.lower():
            continue
        for match in REFERENCE.finditer(text):
            found[uuid.UUID(match[1])] = None
            if len(found) == limits.MAX_REFERENCES:
                return list(found)
    return list(found)


def resolve(user: AbstractBaseUser, value: Any) -> list[WorkspaceFile]:
    """Return the user's files that a text or value refers to, in reading order; others are ignored."""
    ids = parse_references(value)
    files = WorkspaceFile.objects.filter(user_id=user.pk).in_bulk(ids) if ids else {}
    return [files[file_id] for file_id in ids if file_id in files]
