"""/api/me and /api/usage, from outside."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from accounts.ledger import charge_once, rebuild_spending
from accounts.models import Budget, LedgerEntry, User


@pytest.fixture
def api(ada: User) -> APIClient:
    client = APIClient()
    client.force_authenticate(ada)
    return client


def test_me_says_who_i_am_and_what_limits_me(api: APIClient, ada: User) -> None:
    Budget.objects.create(user=ada, day_limit=Decimal("2.5"))
    me = api.get("/api/me").json()
    assert me["username"] == "ada"
    assert me["email"] == "ada@example.org"
    assert (me["time_zone"], me["theme"], me["is_staff"]) == ("UTC", "system", False)
    assert me["limits"] == {
        "running_turns": 5,
        "in_flight_turns": 15,
        "day_budget": 2.5,
        "month_budget": None,
    }
    assert "password" not in me


def test_me_changes_what_is_mine_to_change(api: APIClient, ada: User) -> None:
    change = {"email": "a@b.example", "time_zone": "Europe/Paris", "theme": "dark"}
    answer = api.patch("/api/me", change, format="json")
    assert answer.status_code == 200
    assert {name: answer.json()[name] for name in change} == change
    ada.refresh_from_db()
    assert (ada.email, ada.time_zone, ada.theme) == tuple(change.values())
    assert ada.time_zone_changed_at is not None


def test_me_does_not_change_what_is_not(api: APIClient, ada: User) -> None:
    smuggled = {"username": "root", "is_staff": True, "is_superuser": True, "password": "x", "id": 7}
    assert api.patch("/api/me", smuggled, format="json").status_code == 200
    after = User.objects.get()
    assert (after.username, after.is_staff, after.is_superuser, after.pk) == ("ada", False, False, ada.pk)
    assert after.password == ada.password


def test_setting_the_same_time_zone_again_is_no_move(api: APIClient, ada: User) -> None:
    api.patch("/api/me", {"time_zone": "UTC"}, format="json")
    ada.refresh_from_db()
    assert ada.time_zone_changed_at is None


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("time_zone", "Mars/Olympus"),
        ("time_zone", "europe/paris"),
        ("time_zone", "../../etc/passwd"),
        ("time_zone", "America"),
        ("time_zone", "Factory"),
        ("time_zone", ""),
        ("time_zone", None),
        ("time_zone", 7),
        ("time_zone", "x" * 100_000),
        ("theme", "plaid"),
        ("email", "nonsense"),
        ("email", "x" * 300 + "@example.org"),
    ],
)
def test_me_names_the_field_that_is_wrong(api: APIClient, ada: User, field: str, value: object) -> None:
    answer = api.patch("/api/me", {field: value}, format="json")
    assert answer.status_code == 400
    error = answer.json()["error"]
    assert error["code"] == "invalid"
    assert list(error["fields"]) == [field]
    ada.refresh_from_db()
    assert (ada.time_zone, ada.theme, ada.email) == ("UTC", "system", "ada@example.org")


@pytest.mark.parametrize("method", ["post", "put", "delete"])
def test_me_answers_other_methods_with_405(api: APIClient, method: str) -> None:
    answer = getattr(api, method)("/api/me")
    assert answer.status_code == 405
    assert answer.json()["error"]["code"] == "method_not_allowed"
    assert "GET" in answer["Allow"]


def test_usage_adds_up_by_day_against_the_budget(api: APIClient, ada: User, bob: User) -> None:
    Budget.objects.create(user=ada, day_limit=Decimal(5))
    for user, key in ((ada, "a"), (ada, "b"), (bob, "c")):
        charge_once(
            user_id=user.pk, key=key, kind="model", amount=Decimal("0.25"), input_tokens=10, output_tokens=5
        )
    LedgerEntry.objects.filter(key="b").update(created_at=timezone.now() - timedelta(days=1))
    rebuild_spending()
    usage = api.get("/api/usage?days=2").json()
    one = {"input_tokens": 10, "output_tokens": 5, "cost": 0.25, "credits": 25.0}
    today = timezone.now().date()
    assert usage["days"] == [
        {"date": str(today - timedelta(days=1)), **one},
        {"date": str(today), **one},
    ]
    assert usage["totals"] == {"input_tokens": 20, "output_tokens": 10, "cost": 0.5, "credits": 50.0}
    day, month = usage["budget"]["day"], usage["budget"]["month"]
    assert (day["limit"], day["spent"], month["limit"]) == (5.0, 0.25, None)
    assert day["resets_at"].startswith(str(today + timedelta(days=1)))


def test_usage_without_any_use_is_zeros(api: APIClient) -> None:
    usage = api.get("/api/usage").json()
    assert len(usage["days"]) == 30
    assert usage["totals"] == {"input_tokens": 0, "output_tokens": 0, "cost": 0.0, "credits": 0.0}


@pytest.mark.parametrize(
    ("days", "given"), [("0", 1), ("-5", 1), ("1000000000", 366), ("9" * 5000, 366), (" 3 ", 3)]
)
def test_usage_days_are_brought_into_range(api: APIClient, days: str, given: int) -> None:
    assert len(api.get("/api/usage", {"days": days}).json()["days"]) == given


@pytest.mark.parametrize("days", ["x", "", "1.5", "NaN", "1e3", "²"])
def test_usage_refuses_days_that_are_no_number(api: APIClient, days: str) -> None:
    answer = api.get("/api/usage", {"days": days})
    assert answer.status_code == 400
    assert "days" in answer.json()["error"]["fields"]


@pytest.mark.parametrize("path", ["/api/me", "/api/usage", "/api/keys"])
def test_everything_of_mine_needs_a_login(db: None, path: str) -> None:
    assert APIClient().get(path).status_code == 401


def test_unknown_query_parameters_never_reach_the_database(api: APIClient) -> None:
    answer = api.get("/api/keys", {"user__password__startswith": "p", "ordering": "user__password"})
    assert answer.status_code == 200
    assert answer.json() == {"results": [], "next": None}
