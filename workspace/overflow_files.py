"""Save what is too large to show to a user's workspace."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import BinaryIO

from django.contrib.auth.models import AbstractBaseUser

from workspace import files
from workspace.data_uris import DataUris
from workspace.errors import WorkspaceError
from workspace.preview import FileNotStored

FOLDER = "results"


class WorkspaceKeeper:
    """Implements `workspace.preview.Keeper` for one user. Saving the same name again replaces the content, so a
    repeated call leaves one file."""

    def __init__(
        self,
        user: AbstractBaseUser,
        session_id: uuid.UUID | None = None,
        outside_sources: Sequence[str] = (),
    ) -> None:
        self.user = user
        self.session_id = session_id
        self.outside_sources = outside_sources
        self.data_uris = DataUris(user=user, session_id=session_id, folder=FOLDER)

    def keep(self, content: BinaryIO, *, name: str, media_type: str) -> str:
        try:
            file = files.save(
                self.user,
                f"{FOLDER}/{name}",
                content,
                session_id=self.session_id,
                overwrite=True,
                outside_sources=self.outside_sources,
            )
        except WorkspaceError as error:
            raise FileNotStored(error.message) from error
        return file.reference

    def keep_data_uris(self, text: str) -> str:
        return self.data_uris.move_text(text)
