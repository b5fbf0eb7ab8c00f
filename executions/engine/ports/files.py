"""The files port: the user's workspace."""

from __future__ import annotations

import io

from accounts.models import User
from blocks import limits
from blocks.ports import PortError, StoredFile
from boundary import taint
from durable.errors import Refusal
from executions.engine.ports.store import persist
from workspace import files
from workspace.errors import WorkspaceError
from workspace.models import WorkspaceFile

FOLDER = "blocks"
SCHEME = "workspace://"


class WorkspaceFiles:
    """Files of one user; those of others are reported as missing."""

    def __init__(self, user: User, outside_sources: taint.Sources = ()) -> None:
        self._user = user
        self._sources = outside_sources

    def save(self, *, name: str, content: bytes, media_type: str, key: str) -> StoredFile:
        try:
            file = persist(
                lambda: files.save(
                    self._user,
                    f"{FOLDER}/{name}",
                    io.BytesIO(content),
                    number=True,
                    key=f"block:{key}",
                    outside_sources=self._sources,
                )
            )
        except WorkspaceError as error:
            raise PortError(error.message) from error
        return StoredFile(
            reference=file.reference, name=file.name, media_type=file.media_type, content=content
        )

    def open(self, reference: str) -> StoredFile:
        try:
            file = persist(lambda: self._find(reference))
            if file.size > limits.MAX_SPREADSHEET_BYTES:
                raise PortError(
                    f"The file {file.name!r} is larger than {limits.MAX_SPREADSHEET_BYTES:,} bytes."
                )
            content = files.read_range(file)
        except Refusal as error:
            raise PortError(f"{reference!r}: {error.message}") from error
        return StoredFile(
            reference=file.reference, name=file.name, media_type=file.media_type, content=content
        )

    def _find(self, reference: str) -> WorkspaceFile:
        if reference.lower().startswith(SCHEME):
            return files.find(self._user, file_id=reference[len(SCHEME) :].partition("#")[0])
        return files.find(self._user, path=reference)
