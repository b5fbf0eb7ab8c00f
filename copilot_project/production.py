"""Checks of the environment that production must pass before it starts."""

from __future__ import annotations

from collections.abc import Sequence

from cryptography.fernet import Fernet

LOOPBACK_HOSTS = frozenset({"localhost", "127.0.0.1", "[::1]"})


def are_fernet_keys(keys: Sequence[str]) -> bool:
    """Return whether every key is a valid Fernet key."""
    try:
        for key in keys:
            Fernet(key)
    except ValueError:
        return False
    return True


def too_wide_hosts(hosts: Sequence[str]) -> list[str]:
    """Return the entries that also match foreign hosts: a wildcard, or a whole top-level domain such as `.com`."""
    return [host for host in hosts if host == "*" or (host.startswith(".") and "." not in host.strip("."))]


def is_loopback_only(hosts: Sequence[str]) -> bool:
    """Return whether the site serves only its own machine, as in tests of a deployment."""
    return set(hosts) <= LOOPBACK_HOSTS
