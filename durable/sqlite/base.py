"""The database backend `durable.sqlite`."""

from __future__ import annotations

import sqlite3
from typing import Any

from django.db.backends.sqlite3 import base

from durable.sqlite.pool import spares


class DatabaseWrapper(base.DatabaseWrapper):
    """Return connections to the pool on close, and reuse them on connect."""

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
