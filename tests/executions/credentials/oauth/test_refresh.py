"""A sign-in is renewed before it ends, by one at a time, and says when it is over."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from accounts.models import User
from blocks.ports import Credential
from boundary.policy import Destination
from executions.credentials.actions import Changes, change
from executions.credentials.errors import RefreshFailed, SignInAgain
from executions.credentials.lookup import StoredCredentials
from executions.credentials.oauth.refresh import fresh_tokens, lock_for_refresh
from executions.models import StoredCredential
from tests.accounts.conftest import race
from tests.executions.credentials.conftest import Provider, sign_in

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("redis_server")]

ACME = Destination(host="api.acme.example", port=443)


@pytest.fixture
def signed_in(as_ada: Client, provider: Provider) -> StoredCredential:
    assert sign_in(as_ada).status_code == 200
    provider.tell(seen=[], most_at_once=0)
    return StoredCredential.objects.get()


def find(row: StoredCredential) -> Credential:
    found = StoredCredentials(row.user_id).find("acme", destination=ACME)
    assert found is not None
    return found


def let_end(row: StoredCredential, *, seconds: float) -> None:
    """Put its end so far from now."""
    StoredCredential.objects.filter(pk=row.pk).update(expires_at=timezone.now() + timedelta(seconds=seconds))


def trades(provider: Provider) -> int:
    return len(provider.seen()["seen"])


def test_a_token_that_holds_is_used_as_it_is(signed_in: StoredCredential, provider: Provider) -> None:
    first, second = find(signed_in), find(signed_in)
    assert first.api_key == second.api_key
    assert first.headers == {"Authorization": f"Bearer {first.api_key}"}
    assert trades(provider) == 0


@pytest.mark.parametrize("seconds", [100, -100])
def test_one_that_is_about_to_end_or_has_ended_is_renewed(
    signed_in: StoredCredential, provider: Provider, seconds: float
) -> None:
    old = find(signed_in)
    let_end(signed_in, seconds=seconds)
    new = find(signed_in)
    assert new.api_key != old.api_key and trades(provider) == 1
    assert find(signed_in) == new and trades(provider) == 1
    signed_in.refresh_from_db()
    assert signed_in.refreshing_until is None
    let_end(signed_in, seconds=-1)
    assert find(signed_in).api_key != new.api_key, "the new refresh token was not kept"


def test_a_refresh_token_that_is_over_says_sign_in_again(
    signed_in: StoredCredential, provider: Provider, as_ada: Client
) -> None:
    provider.tell(revoke=True)
    let_end(signed_in, seconds=-1)
    for _ in range(2):
        with pytest.raises(
            SignInAgain, match=r"The sign-in of Acme has expired\. Sign in again under credentials"
        ):
            find(signed_in)
    assert trades(provider) == 1, "a dead refresh token was tried again"
    shown = as_ada.get(f"/api/credentials/{signed_in.pk}").json()
    assert shown["status"] == "sign_in_again"
    sign_in(as_ada, credential_id=str(signed_in.pk))
    assert find(signed_in).api_key.startswith("canary-access-")


def test_while_the_token_holds_a_dead_refresh_token_hurts_nobody(
    signed_in: StoredCredential, provider: Provider
) -> None:
    old = find(signed_in)
    provider.tell(revoke=True)
    let_end(signed_in, seconds=50)
    assert find(signed_in) == find(signed_in) == old
    assert trades(provider) == 1


def test_a_sign_in_without_refresh_token_ends_with_its_token(as_ada: Client, provider: Provider) -> None:
    provider.tell(with_refresh=False)
    sign_in(as_ada)
    row = StoredCredential.objects.get()
    let_end(row, seconds=50)
    assert find(row).api_key
    let_end(row, seconds=-1)
    with pytest.raises(SignInAgain):
        find(row)


def test_a_provider_in_trouble_is_asked_again_later(
    signed_in: StoredCredential, provider: Provider, settings: Settings
) -> None:
    old = find(signed_in)
    let_end(signed_in, seconds=50)
    provider.tell(fail=503)
    assert find(signed_in) == old, "the token still held"
    let_end(signed_in, seconds=-1)
    provider.tell(fail=503)
    with pytest.raises(RefreshFailed, match="could not be renewed"):
        find(signed_in)
    settings.COPILOT_OAUTH_PROVIDERS, kept = "", settings.COPILOT_OAUTH_PROVIDERS
    with pytest.raises(RefreshFailed, match="A sign-in for acme is no longer configured"):
        find(signed_in)
    settings.COPILOT_OAUTH_PROVIDERS = kept
    assert find(signed_in).api_key != old.api_key


def test_a_change_of_title_does_not_undo_a_refresh(signed_in: StoredCredential, provider: Provider) -> None:
    seen_before = StoredCredential.objects.get(pk=signed_in.pk)
    let_end(signed_in, seconds=-1)
    fresh = find(signed_in)
    change(seen_before, Changes(title="Renamed"))
    assert find(signed_in) == fresh and trades(provider) == 1


def test_whoever_looked_before_a_refresh_gets_what_came_of_it(
    signed_in: StoredCredential, provider: Provider
) -> None:
    let_end(signed_in, seconds=50)
    seen_before = StoredCredential.objects.get(pk=signed_in.pk)
    fresh = find(signed_in)
    assert fresh_tokens(seen_before).access_token == fresh.api_key
    assert trades(provider) == 1


def test_a_refresher_that_died_is_replaced(
    signed_in: StoredCredential, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    let_end(signed_in, seconds=-1)
    monkeypatch.setattr("executions.limits.OAUTH_REFRESH_HOLD_SECONDS", 0.2)
    signed_in.refresh_from_db()
    assert lock_for_refresh(signed_in) and not lock_for_refresh(signed_in)
    assert find(signed_in).api_key and trades(provider) == 1


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("seconds", [50, -1])
def test_of_many_at_once_one_goes_to_the_provider(ada: User, provider: Provider, seconds: float) -> None:
    """Refresh tokens that rotate are good for once: two refreshes at once would lose the sign-in."""
    as_ada = Client()
    as_ada.force_login(ada)
    sign_in(as_ada)
    row = StoredCredential.objects.get()
    let_end(row, seconds=seconds)
    provider.tell(slow=0.3, seen=[], most_at_once=0)
    found = race(lambda: find(row).api_key, 6)
    assert provider.seen()["most_at_once"] == 1 and trades(provider) == 1
    assert len(set(found)) == (2 if seconds > 0 else 1)
