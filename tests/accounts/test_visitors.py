"""Visitors without an account are who their signed cookie says, where visitors are let in."""

from __future__ import annotations

import uuid

import pytest
from django.core import signing
from django.http import HttpRequest, HttpResponse
from django.test import RequestFactory
from pytest_django import Settings
from rest_framework.request import Request

from accounts.visitors import SALT, ensure_visitor, start_visitor, visitor_from_cookie, visitor_id


@pytest.fixture(autouse=True)
def visitors_welcome(settings: Settings) -> None:
    settings.COPILOT_ALLOW_ANONYMOUS = True


def come_back_with(response: HttpResponse) -> HttpRequest:
    request = RequestFactory().get("/")
    request.COOKIES = {name: cookie.value for name, cookie in response.cookies.items()}
    return request


def test_a_visitor_keeps_the_id_from_visit_to_visit() -> None:
    first, response = RequestFactory().get("/"), HttpResponse()
    assert visitor_id(first) is None
    visitor = ensure_visitor(first, response)
    cookie = response.cookies["visitor"]
    assert (cookie["httponly"], cookie["samesite"]) == (True, "Lax")
    again, renewed = come_back_with(response), HttpResponse()
    assert visitor_id(again) == visitor
    assert ensure_visitor(again, renewed) == visitor
    assert visitor_id(come_back_with(renewed)) == visitor


def test_an_id_made_before_the_response_exists_is_the_one_the_browser_gets() -> None:
    plain, response = RequestFactory().get("/"), HttpResponse()
    visitor = start_visitor(Request(plain))
    assert start_visitor(plain) == visitor
    assert visitor_id(plain) == visitor
    assert ensure_visitor(plain, response) == visitor
    assert visitor_id(come_back_with(response)) == visitor


def test_two_visitors_are_two() -> None:
    assert start_visitor(RequestFactory().get("/")) != start_visitor(RequestFactory().get("/"))


def test_nobody_is_a_visitor_where_visitors_are_not_let_in(settings: Settings) -> None:
    response = HttpResponse()
    ensure_visitor(RequestFactory().get("/"), response)
    settings.COPILOT_ALLOW_ANONYMOUS = False
    assert visitor_id(come_back_with(response)) is None


@pytest.mark.parametrize(
    "value",
    [
        "",
        "nonsense",
        str(uuid.uuid4()),
        signing.dumps(uuid.uuid4().hex, salt="another"),
        signing.dumps("nonsense", salt=SALT),
        signing.dumps(7, salt=SALT),
        signing.dumps(None, salt=SALT),
        "\x00",
    ],
    ids=["empty", "word", "unsigned", "other salt", "signed word", "signed number", "signed null", "nul"],
)
def test_a_forged_cookie_is_no_visitor(value: str) -> None:
    assert visitor_from_cookie(value) is None


def test_a_changed_cookie_is_no_visitor() -> None:
    good = signing.dumps(uuid.uuid4().hex, salt=SALT)
    assert visitor_from_cookie(good) is not None
    assert visitor_from_cookie("x" + good[1:]) is None
