"""What can go wrong with a backup.

BackupError
├── NotEmpty         this system already contains data
├── NotABackup       the file is not a backup, or is damaged
├── OtherDatabase    the backup is of another kind of database
└── DumpToolFailed   pg_dump or pg_restore failed
"""

from __future__ import annotations


class BackupError(Exception):
    """The backup could not be made or restored."""

    def __init__(self, message: str = "") -> None:
        super().__init__(message or (type(self).__doc__ or "").strip())


class NotEmpty(BackupError):
    """This system already contains data. Restore into an empty one, or add --replace to delete this data."""


class NotABackup(BackupError):
    """This file is not a Ratchet backup, or it is damaged."""


class OtherDatabase(BackupError):
    """This backup is of another kind of database. Make one with --portable to move between them."""


class DumpToolFailed(BackupError):
    """A client program of PostgreSQL failed."""
