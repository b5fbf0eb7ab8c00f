"""The database backend `durable.sqlite`."""

from __future__ import annotations

import os
import sqlite3
import threading
from pathlib import Path
from typing import Any, TypeAlias

from django.db.backends.sqlite3 import base, features

from durable import limits

File: TypeAlias = tuple[int, int]  # device and inode: a path may lead to another database tomorrow


class ConnectionPool:
    """The idle connections of this process, last used first."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: list[tuple[File, sqlite3.Connection]] = []
        os.register_at_fork(before=self.close_all, after_in_child=self._renew_lock)

    def take(self, path: str) -> sqlite3.Connection | None:
        """Return an idle connection to this database, or None."""
        wanted = identify(path)
        with self._lock:
            for place in reversed(range(len(self._kept))):
                if self._kept[place][0] == wanted:
                    return self._kept.pop(place)[1]
        return None

    def keep(self, path: str, connection: sqlite3.Connection) -> bool:
        """Keep a connection; return False if it must be closed."""
        file = identify(path)
        if file is None or connection.in_transaction:
            return False
        with self._lock:
            if len(self._kept) >= limits.MAX_SPARE_CONNECTIONS:
                return False
            self._kept.append((file, connection))
        return True

    def close_all(self) -> None:
        """Close all idle connections, also before a fork: a child that inherits them cannot lock the file."""
        with self._lock:
            kept, self._kept = self._kept, []
        for _, connection in kept:
            connection.close()

    def _renew_lock(self) -> None:
        """Replace the lock in a forked child, whose copy may be held for ever."""
        self._lock = threading.Lock()


def identify(path: str) -> File | None:
    try:
        found = Path(path).stat()
    except (OSError, ValueError):
        return None
    return found.st_dev, found.st_ino


spares = ConnectionPool()


class DatabaseFeatures(features.DatabaseFeatures):
    minimum_database_version = (3, 35)  # the first with UPDATE … RETURNING


class DatabaseWrapper(base.DatabaseWrapper):
    """Return connections to the pool on close, and reuse them on connect."""

    features_class = DatabaseFeatures

    def get_new_connection(self, conn_params: dict[str, Any]) -> sqlite3.Connection:
        made: sqlite3.Connection = spares.take(self._path) or super().get_new_connection(conn_params)
        return made

    def _close(self) -> None:
        in_doubt = self.in_atomic_block or self.errors_occurred
        if self.connection is None or in_doubt or not spares.keep(self._path, self.connection):
            super()._close()  # type: ignore[misc]  # the stubs do not know it

    @property
    def _path(self) -> str:
        return str(self.settings_dict["NAME"])
