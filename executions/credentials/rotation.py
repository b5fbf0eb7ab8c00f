"""Key rotation: re-encrypts every stored secret with the newest of ENCRYPTION_KEYS."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from cryptography.fernet import Fernet, InvalidToken
from django.conf import settings
from django.db.models import Model

from durable.encryption import CannotUnseal, reseal
from executions.models import StoredCredential, Trigger
from llm.models import ModelEndpoint
from webhooks.models import PushSubscription, VapidKey, WebhookEndpoint

# Apps in higher layers append their models when they are ready.
SEALED: list[tuple[type[Model], Sequence[str]]] = [
    (StoredCredential, ("secret",)),
    (Trigger, ("secret", "old_secret")),
    (WebhookEndpoint, ("sealed_secret", "sealed_old_secret")),
    (PushSubscription, ("sealed_address",)),
    (VapidKey, ("sealed_private_key",)),
    (ModelEndpoint, ("sealed_key",)),
]


@dataclass(kw_only=True)
class Rotation:
    """The result of a rotation; `unreadable` names the rows that no key decrypts."""

    resealed: int = 0
    fresh: int = 0
    unreadable: list[str] = field(default_factory=list)


def rotate_all() -> Rotation:
    """Re-encrypt what an older key encrypted. Safe to repeat, to interrupt, and to run on a live site."""
    rotation = Rotation()
    for model, names in SEALED:
        for row in model._default_manager.order_by("pk").iterator():
            for name in names:
                if getattr(row, name):
                    rotate_one(row, name, rotation)
    return rotation


def rotate_one(row: Any, name: str, rotation: Rotation) -> None:
    token: str = getattr(row, name)
    if is_fresh(token):
        rotation.fresh += 1
        return
    try:
        fresh = reseal(token)
    except CannotUnseal:
        rotation.unreadable.append(f"{type(row).__name__} {row.pk}")
        return
    # A secret replaced meanwhile is already encrypted with the newest key.
    same = type(row)._default_manager.filter(**{"pk": row.pk, name: token})
    if same.update(**{name: fresh}):
        rotation.resealed += 1
    else:
        rotation.fresh += 1


def is_fresh(token: str) -> bool:
    """Return whether the newest key decrypts it."""
    try:
        Fernet(settings.ENCRYPTION_KEYS[0]).decrypt(token.encode())
    except InvalidToken:
        return False
    return True
