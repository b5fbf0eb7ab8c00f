"""Websocket tickets: one use, thirty seconds, bound to the login they came from."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from accounts.api_keys import make_key, revoke_key
from accounts.limits import TICKET_SECONDS
from accounts.logins import login_of, user_of
from accounts.models import Ticket, User
from accounts.tokens import issue_ticket, redeem_login
from tests.accounts.conftest import PASSWORD, race


def redeem_ticket(ticket: str) -> User | None:
    login = redeem_login(ticket)
    return user_of(login) if login else None


def test_a_ticket_works_once(ada: User) -> None:
    ticket = issue_ticket(ada)
    assert redeem_ticket(ticket) == ada
    assert redeem_ticket(ticket) is None


@pytest.mark.parametrize("ticket", ["", "nonsense", "\x00", "\ud800", "x" * 100_000])
def test_what_is_no_ticket_is_worth_nothing(db: None, ticket: str) -> None:
    assert redeem_ticket(ticket) is None


def test_a_ticket_is_over_after_thirty_seconds(ada: User) -> None:
    ticket = issue_ticket(ada)
    row = Ticket.objects.get()
    assert TICKET_SECONDS - 5 < (row.expires_at - timezone.now()).total_seconds() <= TICKET_SECONDS == 30
    Ticket.objects.update(expires_at=timezone.now() - timedelta(milliseconds=1))
    assert redeem_ticket(ticket) is None


def test_only_the_hash_of_a_ticket_is_kept_and_old_ones_go(ada: User) -> None:
    old = issue_ticket(ada)
    assert Ticket.objects.get().token_hash != old
    Ticket.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    issue_ticket(ada)
    assert Ticket.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_of_many_sockets_with_one_ticket_exactly_one_wins(ada: User) -> None:
    ticket = issue_ticket(ada)
    winners = [user for user in race(lambda: redeem_ticket(ticket)) if user]
    assert winners == [ada]


def test_the_ticket_of_a_deactivated_user_is_worth_nothing(ada: User) -> None:
    ticket = issue_ticket(ada)
    User.objects.update(is_active=False)
    assert redeem_ticket(ticket) is None


def test_the_endpoint_needs_a_login_and_gives_a_working_ticket(ada: User) -> None:
    assert APIClient().post("/api/ws-ticket").status_code == 401
    client = APIClient()
    client.login(username="ada", password=PASSWORD)
    answer = client.post("/api/ws-ticket")
    assert answer.status_code == 200
    assert answer["Cache-Control"] == "no-store"
    assert redeem_ticket(answer.json()["ticket"]) == ada


def test_a_ticket_dies_with_the_browser_login_it_came_from(ada: User) -> None:
    client = APIClient()
    client.login(username="ada", password=PASSWORD)
    ticket = client.post("/api/ws-ticket").json()["ticket"]
    client.logout()
    assert redeem_ticket(ticket) is None


def test_a_ticket_dies_with_the_key_it_came_from(ada: User) -> None:
    row, key = make_key(ada, "x")
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {key}")
    first, second = (client.post("/api/ws-ticket").json()["ticket"] for _ in range(2))
    assert redeem_ticket(first) == ada
    revoke_key(row)
    assert redeem_ticket(second) is None


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("end", ["logout", "password", "deactivate", "delete"])
def test_an_open_sockets_login_no_longer_stands_after(ada: User, end: str) -> None:
    client = APIClient()
    client.login(username="ada", password=PASSWORD)
    login = redeem_login(client.post("/api/ws-ticket").json()["ticket"])
    assert login is not None
    assert user_of(login) is not None
    match end:
        case "logout":
            client.logout()
        case "password":
            ada.set_password("another good password")
            ada.save()
        case "deactivate":
            User.objects.update(is_active=False)
        case "delete":
            ada.delete()
    assert user_of(login) is None


@pytest.mark.django_db(transaction=True)
def test_a_login_by_key_stands_until_the_key_is_revoked(ada: User) -> None:
    row, _ = make_key(ada, "x")
    login = login_of(ada, api_key_id=row.pk)
    assert user_of(login) is not None
    revoke_key(row)
    assert user_of(login) is None
