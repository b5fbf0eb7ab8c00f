"""What can go wrong with a backup.

BackupError
├── NotEmpty        there is data here already
├── NotABackup      the file is something else, or damaged
├── OtherDatabase   the copy can only go back into the kind of database it came from
└── ToolFailed      pg_dump or pg_restore did not do it
"""

from __future__ import annotations


class BackupError(Exception):
    """The backup could not be made or restored."""

    def __init__(self, message: str = "") -> None:
        super().__init__(message or (type(self).__doc__ or "").strip())


class NotEmpty(BackupError):
    """This system holds data already. Restore into an empty one, or add --replace to throw this data away."""


class NotABackup(BackupError):
    """This file is no backup of ours, or it is damaged."""


class OtherDatabase(BackupError):
    """This backup can only go back into the kind of database it came from. Make one with --portable instead."""


class ToolFailed(BackupError):
    """A program of the database failed."""
