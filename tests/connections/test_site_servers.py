"""Servers from the setting and the command: rows are written, and nothing is contacted before somebody uses them."""

from __future__ import annotations

import io
import json

import pytest
from django.core.management import CommandError, call_command
from pytest_django import Settings

from accounts.models import User
from connections import site_servers
from connections.models import ToolServer
from durable.encryption import unseal
from tests.connections.running_servers import SdkServer

pytestmark = pytest.mark.django_db


def test_forty_dead_servers_are_configured_without_a_packet(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.COPILOT_MCP_SERVERS = json.dumps(
        {f"dead{number}": {"url": f"https://dead{number}.example/mcp"} for number in range(40)}
    )

    def refuse(*args: object, **kwargs: object) -> None:
        raise AssertionError("something was contacted")

    monkeypatch.setattr("socket.socket.connect", refuse)
    monkeypatch.setattr("socket.getaddrinfo", refuse)
    assert site_servers.check_setting() == []
    assert site_servers.write_rows() == 40
    assert site_servers.write_rows() == 40  # a second start changes nothing
    assert ToolServer.objects.filter(from_setting=True, enabled=True).count() == 40


def test_a_key_of_the_setting_is_sealed_and_a_server_left_out_is_switched_off(settings: Settings) -> None:
    settings.COPILOT_MCP_SERVERS = json.dumps({"mill": {"url": "https://mill.example/mcp", "key": "k"}})
    site_servers.write_rows()
    row = ToolServer.objects.get()
    assert (row.auth, unseal(row.sealed_key)) == ("key", "k")
    settings.COPILOT_MCP_SERVERS = "{}"
    site_servers.write_rows()
    row.refresh_from_db()
    assert not row.enabled


@pytest.mark.parametrize(
    "text",
    [
        "not json",
        '{"mill": {"url": "http://127.0.0.1/mcp"}}',
        '{"Mill!": {"url": "https://a.example"}}',
        '{"mill": {}}',
    ],
)
def test_a_setting_that_cannot_be_used_is_named_by_the_check(settings: Settings, text: str) -> None:
    settings.COPILOT_MCP_SERVERS = text
    [problem] = site_servers.check_setting()
    assert "COPILOT_MCP_SERVERS" in problem.msg


def test_the_command_adds_lists_and_removes(mill: SdkServer, ada: User) -> None:
    out = io.StringIO()
    call_command("mcp", "add", mill.url, "--name", "mill", "--user", "ada", stdout=out)
    assert "mcp__mill__echo  approved  pure" in out.getvalue()
    out = io.StringIO()
    call_command("mcp", "list", "--user", "ada", stdout=out)
    assert f"mill  {mill.url}  person  none  ok" in out.getvalue()
    call_command("mcp", "remove", "mill", "--user", "ada", stdout=io.StringIO())
    assert not ToolServer.objects.exists()


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["add", "http://127.0.0.1:9/mcp"], "cannot be used"),
        (["add", "https://a.example/mcp", "--user", "nobody"], "no active user"),
        (["remove", "nothing"], "no server"),
    ],
)
def test_the_command_says_what_is_wrong(words: list[str], problem: str) -> None:
    with pytest.raises(CommandError, match=problem):
        call_command("mcp", *words, stdout=io.StringIO())
