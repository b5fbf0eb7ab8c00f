"""Lists in pages: complete, in order, exact while rows come and go, and deaf to nonsense."""

from __future__ import annotations

import base64
import json
from datetime import timedelta
from typing import Any

import pytest
from django.db.models import F, QuerySet
from django.utils import timezone
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.test import APIClient, APIRequestFactory

from accounts.api_keys import create_api_key
from accounts.models import ApiKey, User
from copilot_project.web.pagination import CursorPages


@pytest.fixture
def ada(db: None) -> User:
    return User.objects.create_user("ada")


def ask(queryset: QuerySet[Any] | list[Any], **query: Any) -> tuple[list[Any], str | None]:
    pages = CursorPages()
    rows = pages.paginate_queryset(queryset, Request(APIRequestFactory().get("/", query)))
    answer = pages.get_paginated_response(rows).data
    return answer["results"], answer["next"]


def walk(queryset: QuerySet[Any] | list[Any], limit: int) -> list[Any]:
    rows, cursor = ask(queryset, limit=limit)
    while cursor:
        assert len(rows) % limit == 0
        more, cursor = ask(queryset, limit=limit, cursor=cursor)
        rows += more
    return rows


def make_keys(user: User, count: int) -> None:
    now = timezone.now()
    ApiKey.objects.bulk_create(
        ApiKey(user=user, name=f"key {number % 3}", prefix=f"{number:08}", hash=f"{number:064}")
        for number in range(count)
    )
    for number, key in enumerate(ApiKey.objects.all()):  # many rows share a moment
        ApiKey.objects.filter(pk=key.pk).update(created_at=now - timedelta(seconds=number // 4))


@pytest.mark.parametrize("limit", [1, 2, 7, 23, 100])
@pytest.mark.parametrize(
    "order", [["-created_at"], ["created_at"], ["name", "-created_at"], ["-name", "pk"], ["-id"], []]
)
def test_pages_together_are_the_whole_list_in_order(ada: User, order: list[str], limit: int) -> None:
    make_keys(ada, 23)
    queryset = ApiKey.objects.order_by(*order)
    rows = walk(queryset, limit)
    assert len({row.pk for row in rows}) == 23
    names = [name.lstrip("-") for name in order if name != "pk"]
    expected = list(queryset.values_list(*names)) if names else None
    if expected is not None:
        assert [tuple(getattr(row, name) for name in names) for row in rows] == expected


def test_an_annotation_can_be_the_order(ada: User) -> None:
    make_keys(ada, 9)
    rows = walk(ApiKey.objects.annotate(told=F("created_at")).order_by("-told"), 2)
    assert [row.created_at for row in rows] == sorted((row.created_at for row in rows), reverse=True)
    assert len({row.pk for row in rows}) == 9


def test_rows_that_come_and_go_meanwhile_neither_repeat_nor_hide_others(ada: User) -> None:
    make_keys(ada, 10)
    queryset = ApiKey.objects.order_by("-id")
    everything = list(queryset)
    first, cursor = ask(queryset, limit=4)
    create_api_key(ada, "newer")
    first[-1].delete()  # the very row the cursor stands on
    second, _ = ask(queryset, limit=4, cursor=cursor)
    assert second == everything[4:8]


@pytest.mark.parametrize("limit", [1, 2, 7, 23, 100])
def test_rows_in_an_order_of_their_own_are_paged_as_they_come(ada: User, limit: int) -> None:
    make_keys(ada, 23)
    ranked = sorted(ApiKey.objects.all(), key=lambda row: row.hash[::-1])
    assert walk(ranked, limit) == ranked
    assert ask([]) == ([], None)


def test_ranked_rows_that_come_and_go_meanwhile_neither_repeat_nor_hide_others(ada: User) -> None:
    make_keys(ada, 11)
    *ranked, newer = ApiKey.objects.order_by("id")
    _, cursor = ask(ranked, limit=4)
    assert ask([newer, *ranked], limit=4, cursor=cursor)[0] == ranked[4:8]
    gone = [row for row in ranked if row != ranked[3]]  # the very row the cursor stands on
    assert ask(gone, limit=4, cursor=cursor)[0] == ranked[4:8]


@pytest.mark.parametrize("cursor", ["nonsense", "é", "====", "WyJ4IiwieSJd", "WyIxIiwiXHVkODAwIl0"])
def test_a_cursor_that_is_not_ours_is_refused_for_ranked_rows(ada: User, cursor: str) -> None:
    with pytest.raises(ValidationError):
        ask([ada], cursor=cursor)


@pytest.mark.parametrize("place", ["-5", "9" * 500])
def test_a_place_beyond_a_ranked_list_is_no_error(ada: User, place: str) -> None:
    rows, following = ask([ada], cursor=packed([place, "nobody"]))
    assert (rows in ([ada], []), following) == (True, None)


@pytest.mark.parametrize(
    ("limit", "given"),
    [("0", 1), ("-7", 1), ("1", 1), ("100", 100), ("1000000000", 100), ("9" * 9999, 100), ("", 30)],
)
def test_the_page_size_is_brought_into_range(ada: User, limit: str, given: int) -> None:
    make_keys(ada, 120)
    assert len(ask(ApiKey.objects.all(), limit=limit)[0]) == given


def test_the_page_size_is_thirty_when_nobody_says(ada: User) -> None:
    make_keys(ada, 40)
    rows, cursor = ask(ApiKey.objects.all())
    assert len(rows) == 30
    assert cursor


def test_a_list_that_fits_has_no_next_page(ada: User) -> None:
    make_keys(ada, 5)
    assert ask(ApiKey.objects.all(), limit=5)[1] is None
    assert ask(ApiKey.objects.none()) == ([], None)


def packed(value: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


@pytest.mark.parametrize(
    "cursor",
    [
        "nonsense",
        "====",
        "é",
        packed([]),
        packed(["2026-01-01"]),
        packed(["\ud800", "\udfff"]),
        packed(["2026-01-01T00:00:00+00:00", "\ud800"]),
        base64.urlsafe_b64encode(b'["\xed\xa0\x80","x"]').decode().rstrip("="),
        packed(["not a time", "00000000-0000-7000-8000-000000000000"]),
        packed(["2026-01-01T00:00:00+00:00", "no id"]),
        packed(["2026-01-01T00:00:00+00:00", "00000000-0000-7000-8000-000000000000", "more"]),
        packed({"a": 1}),
        packed([1, 2]),
        packed([None, None]),
        packed(["\x00", "\x00"]),
        packed(["\ud800", "x"]),
        packed(7),
        base64.b64encode(b"[" * 1500).decode(),
        base64.b64encode(b"\xff\xfe").decode(),
        "x" * 100_000,
    ],
)
def test_a_cursor_that_is_not_ours_answers_400(ada: User, cursor: str) -> None:
    with pytest.raises(ValidationError):
        ask(ApiKey.objects.order_by("-created_at"), cursor=cursor)
    client = APIClient()
    client.force_authenticate(ada)
    answer = client.get("/api/keys", {"cursor": cursor})
    assert answer.status_code == 400
    assert "cursor" in answer.json()["error"]["fields"]


@pytest.mark.parametrize("limit", ["x", "1.5", "NaN", " ", "1e3"])
def test_a_page_size_that_is_no_number_answers_400(ada: User, limit: str) -> None:
    client = APIClient()
    client.force_authenticate(ada)
    answer = client.get("/api/keys", {"limit": limit})
    assert answer.status_code == 400
    assert "limit" in answer.json()["error"]["fields"]


def test_the_endpoint_walks_its_list(ada: User) -> None:
    for number in range(5):
        create_api_key(ada, f"key {number}")
    client = APIClient()
    client.force_authenticate(ada)
    first = client.get("/api/keys", {"limit": 3}).json()
    second = client.get("/api/keys", {"limit": 3, "cursor": first["next"]}).json()
    names = [row["name"] for row in first["results"] + second["results"]]
    assert names == ["key 4", "key 3", "key 2", "key 1", "key 0"]
    assert second["next"] is None
