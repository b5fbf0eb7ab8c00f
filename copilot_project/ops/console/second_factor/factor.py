"""Set up, check and remove a user's second factor."""

from __future__ import annotations

import secrets

from accounts.attempt_limits import Limit, count_try
from accounts.limits import LOGIN_WINDOW_SECONDS
from accounts.models import User
from copilot_project.limits import RECOVERY_CODES, WRONG_CODES
from copilot_project.ops.console.second_factor.models import Authenticator, RecoveryCode, digest_of
from durable.database import in_transaction

LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"  # without characters that look alike
GROUPS, GROUP_LETTERS = 4, 4


def confirmed(user: User) -> Authenticator | None:
    """Return the user's active second factor, or None."""
    return Authenticator.objects.filter(user=user, confirmed=True).first()


def begin(user: User) -> Authenticator:
    """Return the authenticator being set up; the same one until confirmed, so that a reload keeps its QR code."""
    found, _ = Authenticator.objects.get_or_create(
        user=user, confirmed=False, defaults={"name": "authenticator"}
    )
    return found


def confirm(user: User, code: str) -> list[str] | None:
    """Activate the second factor and return its recovery codes, or None if the code is wrong. Raise TooManyAttempts."""
    device = begin(user)
    tries = count_try(limits_of(user))
    if not device.verify_token(code.strip()):
        return None
    tries.give_back()
    return replace_device(user, device)


@in_transaction
def replace_device(user: User, device: Authenticator) -> list[str]:
    Authenticator.objects.filter(user=user, confirmed=True).delete()
    Authenticator.objects.filter(pk=device.pk).update(confirmed=True)
    return new_recovery_codes(user)


def check(user: User, code: str) -> Authenticator | None:
    """Return the second factor if the code of the app or the recovery code is right, else None.

    Each code works once. Every try counts towards the limit unless it was right. Raise TooManyAttempts beyond it.
    """
    device = confirmed(user)
    if device is None:
        return None
    tries = count_try(limits_of(user))
    if not (device.verify_token(code.strip()) or use_recovery_code(user, code)):
        return None
    tries.give_back()
    return device


def use_recovery_code(user: User, code: str) -> bool:
    deleted, _ = RecoveryCode.objects.filter(user=user, digest=digest_of(code)).delete()
    return bool(deleted)


@in_transaction
def new_recovery_codes(user: User) -> list[str]:
    """Replace the recovery codes and return the new ones, which are never shown again."""
    codes = [
        "-".join("".join(secrets.choice(LETTERS) for _ in range(GROUP_LETTERS)) for _ in range(GROUPS))
        for _ in range(RECOVERY_CODES)
    ]
    RecoveryCode.objects.filter(user=user).delete()
    RecoveryCode.objects.bulk_create(RecoveryCode(user=user, digest=digest_of(code)) for code in codes)
    return codes


def remove(user: User) -> bool:
    """Remove the second factor, active or not; return whether there was one."""
    RecoveryCode.objects.filter(user=user).delete()
    deleted, _ = Authenticator.objects.filter(user=user).delete()
    return bool(deleted)


def limits_of(user: User) -> list[Limit]:
    return [Limit(what="second factor of", who=str(user.pk), most=WRONG_CODES, seconds=LOGIN_WINDOW_SECONDS)]
