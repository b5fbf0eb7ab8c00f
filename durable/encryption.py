"""Encrypt stored secrets with the site's ENCRYPTION_KEYS."""

from __future__ import annotations

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings


class CannotUnseal(Exception):
    """No key in ENCRYPTION_KEYS decrypts this secret. Restore the key it was encrypted with, or set it again."""

    def __init__(self) -> None:
        super().__init__(self.__doc__)


def seal(secret: str) -> str:
    """Encrypt a secret with the newest key; return a Fernet token."""
    return _keys().encrypt(secret.encode()).decode()


def unseal(token: str) -> str:
    """Decrypt a secret with any key in ENCRYPTION_KEYS; raises CannotUnseal."""
    try:
        return _keys().decrypt(token.encode()).decode()
    except InvalidToken:
        raise CannotUnseal from None


def reseal(token: str) -> str:
    """Encrypt the same secret with the newest key, after a key change; raises CannotUnseal."""
    try:
        return _keys().rotate(token.encode()).decode()
    except InvalidToken:
        raise CannotUnseal from None


def _keys() -> MultiFernet:
    return MultiFernet([Fernet(key) for key in settings.ENCRYPTION_KEYS])
