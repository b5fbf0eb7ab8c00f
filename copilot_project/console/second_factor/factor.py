"""What a person does with their second factor: set it up, give a code, get new recovery codes, take it away."""

from __future__ import annotations

import secrets

from accounts.attempts import Limit, count_try
from accounts.models import User
from copilot_project.console.second_factor.models import Authenticator, RecoveryCode, digest_of
from durable.limits import LOGIN_WINDOW_SECONDS, RECOVERY_CODES, WRONG_CODES
from durable.retrying import in_transaction

LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"  # none that looks like another
GROUPS, GROUP_LETTERS = 4, 4


def confirmed(user: User) -> Authenticator | None:
    """The second factor this person has to give."""
    return Authenticator.objects.filter(user=user, confirmed=True).first()


def begin(user: User) -> Authenticator:
    """The authenticator that is being set up; the same until it is confirmed, so that a reload keeps its QR code."""
    found, _ = Authenticator.objects.get_or_create(
        user=user, confirmed=False, defaults={"name": "authenticator"}
    )
    return found


def confirm(user: User, code: str) -> list[str] | None:
    """From now on it is asked for: answers the recovery codes, once. None for a wrong code. Raises TooManyAttempts."""
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
    """The second factor, when this code of the app, or this recovery code, opens it. Raises TooManyAttempts.

    Either opens once. Every try counts until it proves right.
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
    """Ten new ones in the place of those that were; they are shown now and never again."""
    codes = [
        "-".join("".join(secrets.choice(LETTERS) for _ in range(GROUP_LETTERS)) for _ in range(GROUPS))
        for _ in range(RECOVERY_CODES)
    ]
    RecoveryCode.objects.filter(user=user).delete()
    RecoveryCode.objects.bulk_create(RecoveryCode(user=user, digest=digest_of(code)) for code in codes)
    return codes


def take_away(user: User) -> bool:
    """No second factor any more, confirmed or begun; False when there was none."""
    RecoveryCode.objects.filter(user=user).delete()
    deleted, _ = Authenticator.objects.filter(user=user).delete()
    return bool(deleted)


def limits_of(user: User) -> list[Limit]:
    return [Limit(what="second factor of", who=str(user.pk), most=WRONG_CODES, seconds=LOGIN_WINDOW_SECONDS)]
