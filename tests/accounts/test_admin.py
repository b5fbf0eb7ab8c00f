"""Operators see people, keys, budgets and charges; no secret, and no way to rewrite a charge."""

from __future__ import annotations

from decimal import Decimal

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Permission
from django.test import Client

from accounts.api_keys import find_key, make_key
from accounts.ledger import charge_once
from accounts.models import Budget, LedgerEntry, User


@pytest.fixture
def operator(client: Client, db: None) -> Client:
    client.force_login(User.objects.create_superuser("root"))
    return client


@pytest.mark.parametrize("model", ["user", "apikey", "budget", "ledgerentry"])
def test_staff_without_the_permission_get_403(client: Client, bob: User, model: str) -> None:
    bob.is_staff = True
    bob.save()
    client.force_login(bob)
    assert client.get("/admin/").status_code == 200
    assert client.get(f"/admin/accounts/{model}/").status_code == 403
    bob.user_permissions.add(Permission.objects.get(codename=f"view_{model}"))
    assert client.get(f"/admin/accounts/{model}/").status_code == 200


def test_keys_show_neither_secret_nor_hash_and_can_be_revoked(operator: Client, ada: User) -> None:
    row, key = make_key(ada, "laptop")
    pages = [
        operator.get("/admin/accounts/apikey/").content.decode(),
        operator.get(f"/admin/accounts/apikey/{row.pk}/change/").content.decode(),
    ]
    for page in pages:
        assert row.prefix in page
        assert row.hash not in page
        assert key.split("_", 2)[2] not in page
    operator.post(
        "/admin/accounts/apikey/", {"action": "revoke", "sure": "yes", "_selected_action": [str(row.pk)]}
    )
    assert find_key(key) is None
    assert LogEntry.objects.get().get_change_message() == "Revoked."
    assert operator.get("/admin/accounts/apikey/add/").status_code == 403


def test_charges_can_be_read_and_nothing_else(operator: Client, ada: User) -> None:
    charge_once(user_id=ada.pk, key="step:1", kind="model", amount=Decimal(1))
    entry = LedgerEntry.objects.get()
    page = f"/admin/accounts/ledgerentry/{entry.pk}"
    assert "step:1" in operator.get("/admin/accounts/ledgerentry/").content.decode()
    assert operator.get(f"{page}/change/").status_code == 200
    assert operator.post(f"{page}/change/", {"amount": "0"}).status_code == 403
    assert operator.post(f"{page}/delete/", {"post": "yes"}).status_code == 403
    assert operator.get("/admin/accounts/ledgerentry/add/").status_code == 403
    assert LedgerEntry.objects.get().amount == 1


def test_a_budget_can_be_set_and_a_negative_one_cannot(operator: Client, ada: User) -> None:
    form = {"user": ada.pk, "day_limit": "-1", "month_limit": ""}
    assert operator.post("/admin/accounts/budget/add/", form).status_code == 200
    assert not Budget.objects.exists()
    assert operator.post("/admin/accounts/budget/add/", form | {"day_limit": "1.5"}).status_code == 302
    assert Budget.objects.get().day_limit == Decimal("1.5")
    assert operator.get("/admin/accounts/budget/").status_code == 200


def test_the_user_page_shows_time_zone_and_budget_and_no_password_hash(operator: Client, ada: User) -> None:
    page = operator.get(f"/admin/accounts/user/{ada.pk}/change/").content.decode()
    assert 'name="time_zone"' in page
    assert 'name="budget-0-day_limit"' in page or 'name="budget-TOTAL_FORMS"' in page
    assert ada.password not in page
