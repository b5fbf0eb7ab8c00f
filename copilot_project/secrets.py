"""The keys of a development installation, generated once and kept in the home folder with mode 600."""

from __future__ import annotations

import os
import secrets
import sys
from collections.abc import Callable
from pathlib import Path

from cryptography.fernet import Fernet


def secret_key(home: Path) -> str:
    return kept(home / "keys" / "secret_key", make_secret_key)


def encryption_key(home: Path) -> str:
    return kept(home / "keys" / "encryption_key", make_encryption_key)


def flower_auth(home: Path) -> str:
    return kept(home / "keys" / "flower_auth", lambda: f"admin:{secrets.token_urlsafe(12)}")


def make_secret_key() -> str:
    return secrets.token_urlsafe(50)


def make_encryption_key() -> str:
    return Fernet.generate_key().decode()


def private_file(path: Path) -> Path:
    """Create the file if it is missing, make it readable by its owner only, and return its path."""
    if not path.exists():
        path.touch(mode=0o600)
    if path.stat().st_uid == os.geteuid():
        path.chmod(0o600)
    return path


def kept(path: Path, make: Callable[[], str]) -> str:
    """Return the key at `path`, generating it if it is missing. Two processes at once get the same key."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        draft = path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
        draft.touch(mode=0o600)
        try:
            draft.write_text(make())
            os.link(draft, path)
        except FileExistsError:
            pass  # another process was first: use its key
        finally:
            draft.unlink()
    return path.read_text().strip()


if __name__ == "__main__":
    sys.stdout.write(f"SECRET_KEY={make_secret_key()}\nENCRYPTION_KEYS={make_encryption_key()}\n")
