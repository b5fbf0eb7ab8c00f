"""Every error answers in one form, with the right status, and lets nothing out."""

from __future__ import annotations

import logging

import pytest
from django.test import Client
from rest_framework.test import APIClient

from tests.copilot_project.web.urls import SECRET

pytestmark = [pytest.mark.urls("tests.copilot_project.web.urls"), pytest.mark.django_db]


@pytest.fixture
def client() -> Client:
    """A client that sees what a browser sees, not the exception behind it."""
    return Client(raise_request_exception=False)


@pytest.mark.parametrize(
    ("name", "status", "code", "retry_after"),
    [
        ("denied", 403, "permission_denied", None),
        ("suspicious", 400, "bad_request", None),
        ("throttled", 429, "throttled", "3"),
        ("attempts", 429, "too_many_attempts", "62"),
        ("budget", 402, "over_budget", None),
        ("database_down", 503, "unavailable", "5"),
        ("database_gone", 503, "unavailable", "5"),
        ("data", 500, "internal", None),
        ("bug", 500, "internal", None),
    ],
)
def test_an_error_has_its_status_code_and_message_and_no_inside(
    client: Client, name: str, status: int, code: str, retry_after: str | None
) -> None:
    answer = client.get(f"/api/fail/{name}")
    assert answer.status_code == status
    assert answer["Content-Type"] == "application/json"
    assert answer.headers.get("Retry-After") == retry_after
    error = answer.json()["error"]
    assert error["code"] == code
    assert error["message"]
    assert set(error) <= {"code", "message", "hint", "fields"}
    assert SECRET.encode() not in answer.content
    assert b"Traceback" not in answer.content


def test_what_is_missing_and_what_is_not_yours_are_told_apart_by_nobody(client: Client) -> None:
    paths = [
        "/api/fail/not_found",
        "/api/fail/file_missing",
        "/api/fail/http404",
        "/api/fail/does_not_exist",
        "/api/nowhere",
    ]
    answers = [client.get(path) for path in paths]
    assert {answer.status_code for answer in answers} == {404}
    assert len({answer.content for answer in answers}) == 1
    assert answers[0].json()["error"]["code"] == "not_found"


def test_field_errors_are_named_by_their_path(client: Client) -> None:
    error = client.get("/api/fail/invalid_nested").json()["error"]
    assert error["code"] == "invalid"
    assert error["fields"] == {"title": ["Too long."], "permissions.tools.allow.1": ["Unknown tool."]}
    assert error["message"] == (
        "Dates are the wrong way round. Please correct: title, permissions.tools.allow.1."
    )


def test_errors_of_no_field_are_the_message(client: Client) -> None:
    answer = client.get("/api/fail/invalid_list")
    assert answer.status_code == 400
    assert answer.json() == {"error": {"code": "invalid", "message": "Not like this. Nor like that."}}
    assert client.get("/api/fail/django_invalid").json()["error"]["message"] == "Not like that."


def test_a_refusal_of_a_use_case_names_its_fields_by_their_path(client: Client) -> None:
    answer = client.get("/api/fail/bad_inputs")
    assert answer.status_code == 400
    assert answer.json() == {
        "error": {
            "code": "invalid",
            "message": "Please correct: inputs.a, inputs.b.c.",
            "fields": {"inputs.a": ["Give a number."], "inputs.b.c": ["Give a text."]},
        }
    }


def test_a_refusal_is_answered_with_its_own_status_code_and_hint(client: Client) -> None:
    answer = client.get("/api/fail/block_refused")
    assert answer.status_code == 418
    assert answer.json() == {"error": {"code": "teapot", "message": "Short and stout.", "hint": "Pour."}}
    plain = client.get("/api/fail/refused_unsaid")
    assert plain.status_code == 400
    assert plain.json() == {"error": {"code": "refused", "message": "This request was refused."}}
    assert "Retry-After" not in plain


def test_a_refusal_outside_the_apis_views_is_answered_alike(client: Client) -> None:
    assert client.get("/api/plain/block_refused").content == client.get("/api/fail/block_refused").content


def test_a_hint_travels_with_its_error(client: Client) -> None:
    error = client.get("/api/fail/budget").json()["error"]
    assert "raise your budget" in error["hint"]


def test_who_is_not_logged_in_hears_how_to_be() -> None:
    refused = Client().get("/api/sessions")
    assert refused.status_code == 401
    assert "Bearer" in refused.json()["error"]["hint"]


def test_a_bug_is_logged_with_its_traceback_and_answered_with_the_request_id(
    client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR, logger="copilot_project.errors"):
        answer = client.get("/api/fail/bug")
    assert answer["X-Request-ID"] in answer.json()["error"]["hint"]
    record = next(record for record in caplog.records if record.name == "copilot_project.errors")
    assert record.exc_info is not None
    assert SECRET in str(record.exc_info[1])


@pytest.mark.parametrize(
    ("name", "status", "code"),
    [
        ("http404", 404, "not_found"),
        ("denied", 403, "permission_denied"),
        ("suspicious", 400, "bad_request"),
        ("database_down", 503, "unavailable"),
        ("bug", 500, "internal"),
    ],
)
def test_errors_outside_the_apis_own_views_look_the_same_under_api_and_are_pages_elsewhere(
    client: Client, name: str, status: int, code: str
) -> None:
    json, page = client.get(f"/api/plain/{name}"), client.get(f"/page/{name}")
    assert json.status_code == page.status_code == status
    assert json.json()["error"]["code"] == code
    assert page["Content-Type"].startswith("text/html")
    assert "<h1>" in page.content.decode()
    for answer in (json, page):
        assert SECRET.encode() not in answer.content
        assert b"Traceback" not in answer.content
        assert b"settings" not in answer.content
        assert len(answer["X-Request-ID"]) == 36


async def test_errors_look_the_same_when_the_site_runs_in_an_event_loop(async_client: object) -> None:
    async_client.raise_request_exception = False  # type: ignore[attr-defined]
    down = await async_client.get("/api/plain/database_down")  # type: ignore[attr-defined]
    assert (down.status_code, down.json()["error"]["code"]) == (503, "unavailable")
    assert down["Retry-After"] == "5"
    bug = await async_client.get("/api/fail/bug")  # type: ignore[attr-defined]
    assert bug["X-Request-ID"] in bug.json()["error"]["hint"]


def test_a_csrf_failure_outside_the_apis_views_is_json_under_api() -> None:
    answer = Client(enforce_csrf_checks=True).post("/api/plain-post", {})
    assert answer.status_code == 403
    assert answer.json()["error"]["code"] == "csrf_failed"


def test_a_body_over_the_cap_is_refused_with_413(client: Client) -> None:
    body = b'"' + b"x" * (5 * 1024 * 1024) + b'"'
    for path in ("/api/echo", "/api/plain-post"):
        answer = client.post(path, body, content_type="application/json")
        assert answer.status_code == 413, path
        assert answer.json()["error"]["code"] == "too_large"


def test_a_body_that_is_not_json_is_refused_with_415() -> None:
    answer = APIClient().post("/api/echo", "<a/>", content_type="application/xml")
    assert answer.status_code == 415
    assert answer.json()["error"]["code"] == "unsupported_media_type"
