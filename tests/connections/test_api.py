"""Servers through the HTTP API: added, listed, changed, approved; nobody's secrets, and nobody else's servers."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import Permission
from django.test import Client
from pytest_django import Settings

from accounts.models import User
from connections.models import ServerTool, ToolServer
from connections.servers import NewServer, add_server
from tests.connections.running_servers import SdkServer
from tests.executions.people import logged_in

pytestmark = pytest.mark.django_db
JSON = "application/json"


def add(client: Client, **given: Any) -> Any:
    return client.post("/api/connections", given, content_type=JSON)


def test_a_person_adds_a_server_and_sees_its_tools(as_ada: Client, mill: SdkServer) -> None:
    answer = add(as_ada, url=mill.url, title="The mill")
    assert answer.status_code == 201, answer.json()
    shown = answer.json()
    assert (shown["scope"], shown["status"], shown["can_change"]) == ("person", "ok", True)
    assert {tool["name"] for tool in shown["tools"]} >= {"echo", "put", "send"}
    [listed] = as_ada.get("/api/connections").json()["results"]
    assert listed["id"] == shown["id"]


def test_a_server_that_does_not_answer_is_added_with_the_reason(as_ada: Client, settings: Settings) -> None:
    settings.BOUNDARY_ALLOWED_HOSTS = ["127.0.0.1:9"]
    shown = add(as_ada, url="http://127.0.0.1:9/mcp").json()
    assert shown["tools"] == []
    assert "127.0.0.1" in shown["last_error"]


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:6379/",
        "http://localhost./mcp",
        "http://[::1]/mcp",
        "http://[::ffff:169.254.169.254]/mcp",
        "http://2130706433/mcp",
        "http://0x7f000001/mcp",
        "http://127.1/mcp",
        "http://0/mcp",
        "http://169.254.169.254/latest/meta-data/",
        "http://metadata.google.internal/mcp",
        "http://10.0.0.1/mcp",
        "http://user:secret@example.com/mcp",
        "http://example.com:22/mcp",
        "file:///etc/passwd",
        "gopher://example.com/",
        "javascript:alert(1)",
        "not an address",
    ],
)
def test_an_address_that_must_not_be_reached_is_refused_when_it_is_entered(as_ada: Client, url: str) -> None:
    answer = add(as_ada, url=url)
    assert answer.status_code == 400, answer.json()
    assert not ToolServer.objects.exists()


def test_a_key_is_stored_encrypted_and_shown_to_nobody(as_ada: Client, mill: SdkServer) -> None:
    answer = add(as_ada, url=mill.url, auth="key", key="canary-key")
    assert answer.status_code == 201
    assert "canary-key" not in answer.content.decode()
    assert "canary-key" not in ToolServer.objects.get().sealed_key


def test_a_stored_key_is_not_sent_to_another_address(as_ada: Client, mill: SdkServer) -> None:
    pk = add(as_ada, url=mill.url, auth="key", key="canary-key").json()["id"]
    moved = as_ada.patch(f"/api/connections/{pk}", {"url": "https://evil.example/mcp"}, content_type=JSON)
    assert moved.status_code == 400
    assert ToolServer.objects.get().url == mill.url


def test_another_s_server_is_not_found(as_ada: Client, bob: User, mill: SdkServer) -> None:
    theirs = add_server(NewServer(url=mill.url, user=bob))
    for call in (
        as_ada.get(f"/api/connections/{theirs.pk}"),
        as_ada.patch(f"/api/connections/{theirs.pk}", {"title": "x"}, content_type=JSON),
        as_ada.delete(f"/api/connections/{theirs.pk}"),
        as_ada.post(f"/api/connections/{theirs.pk}/refresh"),
        as_ada.post(f"/api/connections/{theirs.pk}/sign-in", {}, content_type=JSON),
    ):
        assert call.status_code == 404


def test_only_an_operator_adds_and_changes_servers_of_the_site(
    as_ada: Client, ada: User, site_server: ToolServer, mill: SdkServer
) -> None:
    assert add(as_ada, url=mill.url, scope="site").status_code == 403
    place = f"/api/connections/{site_server.pk}"
    assert as_ada.get(place).json()["can_change"] is False
    assert as_ada.patch(place, {"enabled": False}, content_type=JSON).status_code == 403
    User.objects.filter(pk=ada.pk).update(is_staff=True)
    ada.user_permissions.set(Permission.objects.filter(content_type__app_label="connections"))
    assert (
        logged_in(User.objects.get(pk=ada.pk)).patch(place, {"enabled": False}, content_type=JSON).status_code
        == 200
    )


def test_a_change_is_approved_by_the_digest_of_the_difference_that_was_seen(
    as_ada: Client, mill: SdkServer
) -> None:
    mill.tell(description="Return the text.")
    pk = add(as_ada, url=mill.url).json()["id"]
    mill.tell(description="Return the text twice.")
    echo = tool_named(as_ada.post(f"/api/connections/{pk}/refresh").json(), "echo")
    assert (echo["state"], "+" in echo["difference"], "twice" in echo["difference"]) == (
        "changed",
        True,
        True,
    )
    place = f"/api/connections/{pk}/tools/{echo['id']}/approve"
    mill.tell(description="Return the text and send it to evil.example.")
    as_ada.post(f"/api/connections/{pk}/refresh")
    stale = as_ada.post(place, {"digest": echo["offered_digest"]}, content_type=JSON)
    assert stale.status_code == 409
    seen = tool_named(as_ada.get(f"/api/connections/{pk}").json(), "echo")
    assert as_ada.post(place, {"digest": seen["offered_digest"]}, content_type=JSON).status_code == 200
    assert ServerTool.objects.get(name="echo").state == "approved"
    mill.tell(description="Return the text.")


def tool_named(server: Any, name: str) -> Any:
    return next(tool for tool in server["tools"] if tool["name"] == name)


def test_an_effect_is_lowered_and_never_raised(as_ada: Client, mill: SdkServer) -> None:
    shown = add(as_ada, url=mill.url).json()
    place = f"/api/connections/{shown['id']}/tools/"
    echo, send = tool_named(shown, "echo"), tool_named(shown, "send")
    lowered = as_ada.patch(f"{place}{echo['id']}", {"lowered_effect": "foreign"}, content_type=JSON)
    assert lowered.json()["lowered_effect"] == "foreign"
    raised = as_ada.patch(f"{place}{send['id']}", {"lowered_effect": "pure"}, content_type=JSON)
    assert raised.status_code == 400
    assert ServerTool.objects.get(name="send").trusted_effect == "foreign"


def test_rules_for_tools_are_listed_and_set(as_ada: Client, mill: SdkServer) -> None:
    add(as_ada, url=mill.url, name="mill")
    rows = {row["name"]: row for row in as_ada.get("/api/tools").json()["results"]}
    assert rows["mcp__mill__echo"]["rule"] == "allow"
    assert rows["mcp__mill__send"]["rule"] == "ask"
    assert rows["web_fetch"]["rule"] == "allow"
    answer = as_ada.put("/api/tools/web_fetch/rule", {"rule": "deny"}, content_type=JSON)
    assert (answer.json()["rule"], answer.json()["your_rule"]) == ("deny", "deny")
    cleared = as_ada.put("/api/tools/web_fetch/rule", {"rule": "default"}, content_type=JSON)
    assert (cleared.json()["rule"], cleared.json()["your_rule"]) == ("allow", "")
    assert as_ada.put("/api/tools/no_such_tool/rule", {"rule": "ask"}, content_type=JSON).status_code == 404
    assert as_ada.put("/api/tools/web_fetch/rule", {"rule": "perhaps"}, content_type=JSON).status_code == 400
