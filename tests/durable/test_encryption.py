"""Secrets at rest (SECURITY 95, 96)."""

from __future__ import annotations

import pytest
from cryptography.fernet import Fernet
from pytest_django import Settings

from durable.encryption import CannotUnseal, reseal, seal, unseal

OLD, NEW = (Fernet.generate_key().decode() for _ in range(2))


def test_what_is_stored_does_not_show_the_secret_and_never_twice_the_same(settings: Settings) -> None:
    settings.ENCRYPTION_KEYS = [NEW]
    first, second = seal("whsec_canary"), seal("whsec_canary")
    assert "canary" not in first and first != second
    assert unseal(first) == unseal(second) == "whsec_canary"


def test_a_secret_survives_the_change_of_keys_once_it_was_resealed(settings: Settings) -> None:
    settings.ENCRYPTION_KEYS = [OLD]
    token = seal("sécret")
    settings.ENCRYPTION_KEYS = [NEW, OLD]
    assert unseal(token) == "sécret"
    fresh = reseal(token)
    settings.ENCRYPTION_KEYS = [NEW]
    assert unseal(fresh) == "sécret"


@pytest.mark.parametrize("token", ["", "nonsense", "é"])
def test_a_wrong_key_or_a_damaged_token_is_a_clear_error(settings: Settings, token: str) -> None:
    settings.ENCRYPTION_KEYS = [OLD]
    sealed = seal("x")
    settings.ENCRYPTION_KEYS = [NEW]
    for damaged in (sealed, token):
        with pytest.raises(CannotUnseal, match="ENCRYPTION_KEYS"):
            unseal(damaged)
        with pytest.raises(CannotUnseal):
            reseal(damaged)
