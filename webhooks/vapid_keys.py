"""The site's VAPID key pair, by which push services recognise it; made once, when it is first needed."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlsplit

from django.conf import settings
from django.db import IntegrityError
from webpush.vapid import VAPID

from durable.database import in_transaction
from durable.encryption import seal, unseal
from webhooks.models import VapidKey

NO_HOST = "localhost"


@dataclass(frozen=True, kw_only=True)
class KeyPair:
    """PEM of both keys, and the public key as browsers take it."""

    private_pem: bytes
    public_pem: bytes
    application_server_key: str


def public_key() -> str:
    """Return the public key as browsers take it."""
    return (VapidKey.objects.first() or _create()).public_key


def key_pair() -> KeyPair:
    """Return the key pair; raises CannotUnseal if it was sealed with a key that is gone."""
    row = VapidKey.objects.first() or _create()
    private, public = unseal(row.sealed_private_key).split("\0")
    return KeyPair(
        private_pem=private.encode(), public_pem=public.encode(), application_server_key=row.public_key
    )


def _create() -> VapidKey:
    """Make the key pair. Of two processes that do it at once, one wins and both use its keys."""
    private, public, application_server_key = VAPID.generate_keys()
    sealed = seal(f"{private.decode()}\0{public.decode()}")
    try:
        return in_transaction(VapidKey.objects.create)(
            public_key=application_server_key, sealed_private_key=sealed
        )
    except IntegrityError:
        return VapidKey.objects.get()


def contact() -> str:
    """Return the address a push service may write to about this site."""
    return f"webmaster@{urlsplit(settings.SITE_URL).hostname or NO_HOST}"
