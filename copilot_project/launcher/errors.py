"""Reasons why the system cannot start.

CannotStart
├── AlreadyRunning       another `up` runs in this home folder
├── NoFreePort           no port near the wanted one is free
├── NoRedisServer        there is no Redis server on this machine
├── UnsafeSocketFolder   the folder of the Redis socket belongs to another user
└── CannotPrepare        the database could not be prepared
"""

from __future__ import annotations


class CannotStart(Exception):
    """The system cannot be started."""


class CannotPrepare(CannotStart):
    """The database could not be prepared."""
