"""Rows of the second factor: the authenticator a person confirmed, and the recovery codes that are left."""

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

from accounts.sealing import seal, unseal

KEY_BYTES = 20
STEP_SECONDS = 30
DIGITS = 6
TOLERATED_STEPS = 1  # clocks differ, and people type slowly
ISSUER = "Ratchet"


def new_sealed_key() -> str:
    return seal(base64.b32encode(secrets.token_bytes(KEY_BYTES)).decode())


class Authenticator(Device):  # type: ignore[misc]
    """An app on a person's phone that shows a new code every half minute; it counts once it was confirmed."""

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
        """The secret as apps take it by hand: base32."""
        return unseal(self.sealed_key)

    @property
    def address(self) -> str:
        """What the QR code holds."""
        label = quote(f"{ISSUER}:{self.user.get_username()}")
        return f"otpauth://totp/{label}?{urlencode({'secret': self.key, 'issuer': ISSUER})}"

    def verify_token(self, token: str) -> bool:
        """Whether this is the code of now. Once: the UPDATE lets one caller have each code."""
        if not (token.isascii() and token.isdecimal() and len(token) == DIGITS):
            return False
        clock = TOTP(base64.b32decode(self.key), step=STEP_SECONDS, digits=DIGITS)
        if not clock.verify(int(token), tolerance=TOLERATED_STEPS, min_t=self.last_step + 1):
            return False
        step = clock.t()
        unused = Authenticator.objects.filter(pk=self.pk, last_step__lt=step)
        return bool(unused.update(last_step=step, used_at=timezone.now()))


class RecoveryCode(models.Model):
    """One of the codes on a slip of paper; only its hash is kept, and it goes with its use."""

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
    """Eighty random bits need no slow hash. How it was typed does not matter."""
    plain = "".join(code.split()).replace("-", "").lower()
    return hashlib.sha256(plain.encode()).hexdigest()
