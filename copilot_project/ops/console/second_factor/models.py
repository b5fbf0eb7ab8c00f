"""The authenticator of a user and their unused recovery codes."""

from __future__ import annotations

import base64
import hashlib
import secrets
from typing import ClassVar
from urllib.parse import quote, urlencode

from django.conf import settings
from django.db import models
from django.utils import timezone
from django_otp.models import Device
from django_otp.oath import TOTP

from durable.encryption import seal, unseal

KEY_BYTES = 20
STEP_SECONDS = 30
DIGITS = 6
TOLERATED_STEPS = 1  # clocks differ, and people type slowly
ISSUER = "Ratchet"


def new_sealed_key() -> str:
    return seal(base64.b32encode(secrets.token_bytes(KEY_BYTES)).decode())


class Authenticator(Device):  # type: ignore[misc]
    """A TOTP authenticator; it is required at login once it has been confirmed."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    sealed_key = models.TextField(default=new_sealed_key, editable=False)
    last_step = models.BigIntegerField(
        default=-1, help_text="The half minute of the last code; it and those before it are used up."
    )
    created_at = models.DateTimeField(auto_now_add=True)
    used_at = models.DateTimeField(null=True, blank=True)

    objects: ClassVar[models.Manager[Authenticator]] = models.Manager()

    class Meta:
        verbose_name = "second factor"
        constraints = [
            models.UniqueConstraint(fields=["user", "confirmed"], name="second_factor_one_of_a_person")
        ]

    def __str__(self) -> str:
        return f"second factor of {self.user}"

    @property
    def key(self) -> str:
        """The secret in base32, as it is typed into an app."""
        return unseal(self.sealed_key)

    @property
    def address(self) -> str:
        """The otpauth URL in the QR code."""
        label = quote(f"{ISSUER}:{self.user.get_username()}")
        return f"otpauth://totp/{label}?{urlencode({'secret': self.key, 'issuer': ISSUER})}"

    def verify_token(self, token: str) -> bool:
        """Return whether the code is valid now. The UPDATE lets each code be used once."""
        if not (token.isascii() and token.isdecimal() and len(token) == DIGITS):
            return False
        clock = TOTP(base64.b32decode(self.key), step=STEP_SECONDS, digits=DIGITS)
        if not clock.verify(int(token), tolerance=TOLERATED_STEPS, min_t=self.last_step + 1):
            return False
        step = clock.t()
        unused = Authenticator.objects.filter(pk=self.pk, last_step__lt=step)
        return bool(unused.update(last_step=step, used_at=timezone.now()))


class RecoveryCode(models.Model):
    """A single-use recovery code; only its hash is stored, and the row is deleted when it is used."""

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="recovery_codes"
    )
    digest = models.CharField(max_length=64)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["user", "digest"], name="second_factor_recovery_code_once")
        ]

    def __str__(self) -> str:
        return f"recovery code of {self.user}"


def digest_of(code: str) -> str:
    """Hash a code, ignoring case, spaces and dashes. Eighty random bits need no slow hash."""
    plain = "".join(code.split()).replace("-", "").lower()
    return hashlib.sha256(plain.encode()).hexdigest()
