"""Secrets at rest: sealed with the site's ENCRYPTION_KEYS, so that a dump of the database holds none."""

from __future__ import annotations

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings


class CannotUnseal(Exception):
    """No key in ENCRYPTION_KEYS opens this secret. Put back the key it was sealed with, or set the secret anew."""

    def __init__(self) -> None:
        super().__init__(self.__doc__)


def seal(secret: str) -> str:
    """What is stored: a Fernet token made with the newest key."""
    return _keys().encrypt(secret.encode()).decode()


def unseal(token: str) -> str:
    """The secret itself; every key in ENCRYPTION_KEYS is tried. Raises CannotUnseal."""
    try:
        return _keys().decrypt(token.encode()).decode()
    except InvalidToken:
        raise CannotUnseal from None


def reseal(token: str) -> str:
    """The same secret under the newest key, for when keys are changed. Raises CannotUnseal."""
    try:
        return _keys().rotate(token.encode()).decode()
    except InvalidToken:
        raise CannotUnseal from None


def _keys() -> MultiFernet:
    return MultiFernet([Fernet(key) for key in settings.ENCRYPTION_KEYS])
