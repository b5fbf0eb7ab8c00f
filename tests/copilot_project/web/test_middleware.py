"""What every request passes first."""

from __future__ import annotations

import logging

import pytest
from django.test import Client

from copilot_project.ops.log_format import Ids

pytestmark = [pytest.mark.urls("tests.copilot_project.web.urls"), pytest.mark.django_db]


def test_every_answer_carries_a_request_id_of_its_own(client: Client) -> None:
    ids = {
        client.get(path)["X-Request-ID"]
        for path in ("/login/", "/api/me", "/nowhere", "/static/site/site.css")
    }
    assert len(ids) == 4
    assert all(len(name) == 36 for name in ids)


def test_a_decent_id_from_outside_is_kept_and_a_bad_one_is_not(client: Client) -> None:
    kept = client.get("/login/", HTTP_X_REQUEST_ID="edge-2026.11_16")
    assert kept["X-Request-ID"] == "edge-2026.11_16"
    for bad in ("x", "a" * 65, "has space here", "new\nline-injected", "<script>alert(1)</script>", "é" * 10):
        assert client.get("/login/", HTTP_X_REQUEST_ID=bad)["X-Request-ID"] != bad


def test_log_lines_name_the_request(client: Client) -> None:
    answer = client.get("/login/")
    record = logging.LogRecord("x", logging.INFO, "x", 1, "x", None, None)
    assert Ids().filter(record)
    assert record.request_id == answer["X-Request-ID"]  # type: ignore[attr-defined]


@pytest.mark.parametrize("path", ["/api/keys?cursor=%00", "/api/%00", "/api/usage?days=1%001"])
def test_a_nul_in_the_address_is_refused(client: Client, path: str) -> None:
    answer = client.get(path)
    assert answer.status_code == 400
    assert answer.json()["error"]["code"] == "bad_request"


def test_a_body_of_unknown_length_is_refused_and_not_taken_for_empty(client: Client) -> None:
    answer = client.generic(
        "POST", "/api/echo", b"", "application/json", HTTP_TRANSFER_ENCODING="chunked", CONTENT_LENGTH=""
    )
    assert answer.status_code == 411
    assert answer.json()["error"]["code"] == "length_required"


async def test_it_works_in_an_event_loop(async_client: object) -> None:
    answer = await async_client.get("/login/")  # type: ignore[attr-defined]
    assert len(answer["X-Request-ID"]) == 36
    assert (await async_client.get("/api/me?a=%00")).status_code == 400  # type: ignore[attr-defined]
