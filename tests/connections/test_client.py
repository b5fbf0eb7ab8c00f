"""Servers of other people in both eras: listed, called, remembered, left alone when they fail."""

from __future__ import annotations

import base64
from datetime import timedelta

import pytest
from django.utils import timezone
from pytest_django import Settings

from connections import client, limits, tool_lists
from connections.calls import answer_task, call_named, cancel_task, get_task
from connections.errors import ServerMisbehaved, ServerPaused, ServerRefused, ServerUnreachable
from connections.models import ServerTool, ToolServer
from connections.outcomes import CallResult, InputWanted, TaskFailed, ToolTask
from connections.servers import NewServer, add_server
from tests.connections.running_servers import SdkServer
from tests.harness import eventually

pytestmark = pytest.mark.django_db
Era = ToolServer.Era


def text_of(outcome: object) -> str:
    assert isinstance(outcome, CallResult), outcome
    return str(outcome.content[0]["text"])


@pytest.fixture(params=[Era.UNKNOWN, Era.HANDSHAKE])
def server(request: pytest.FixtureRequest, site_server: ToolServer) -> ToolServer:
    """The same server spoken to in the modern era, and with a handshake as an older client would."""
    site_server.era = request.param
    site_server.save()
    return site_server


def test_tools_of_an_sdk_server_are_listed_with_their_effects_in_both_eras(server: ToolServer) -> None:
    found = tool_lists.refresh(server, None)
    tools = {tool.name: tool for tool in server.tools.all()}
    assert (found.usable, found.waiting, found.unusable) == (len(tools), 0, {})
    effects = {name: tools[name].effect for name in ("echo", "put", "send")}
    assert effects == {"echo": "pure", "put": "idempotent", "send": "foreign"}
    assert tools["echo"].known_as == "mcp__mill__echo"
    assert {tool.state for tool in tools.values()} == {ServerTool.State.APPROVED}


def test_a_tool_of_an_sdk_server_is_called_in_both_eras(server: ToolServer) -> None:
    assert text_of(call_named(server, None, "echo", {"text": "Grüße"})) == "Grüße"
    failed = call_named(server, None, "fail", {})
    assert isinstance(failed, CallResult) and failed.is_error
    assert "no grain left" in text_of(failed)


def test_the_era_is_asked_for_once_and_remembered(site_server: ToolServer) -> None:
    call_named(site_server, None, "echo", {"text": "a"})
    stored = ToolServer.objects.get()
    assert (stored.era, stored.protocol_version) == (Era.MODERN, "2026-07-28")
    assert stored.instructions == "A mill."


def test_a_stock_server_of_the_handshake_era_is_found_out_and_called(everything: ToolServer) -> None:
    tool_lists.refresh(everything, None)
    everything.refresh_from_db()
    assert everything.era == Era.HANDSHAKE
    assert everything.tools.count() > 5
    assert text_of(call_named(everything, None, "echo", {"message": "hello"})) == "Echo: hello"
    assert "42" in text_of(call_named(everything, None, "get-sum", {"a": 40, "b": 2}))


def test_a_picture_comes_as_a_part(site_server: ToolServer) -> None:
    found = call_named(site_server, None, "picture", {})
    assert isinstance(found, CallResult)
    assert base64.b64decode(found.content[1]["data"]).startswith(b"\x89PNG")


def test_a_server_that_changed_its_era_is_asked_again(everything: ToolServer) -> None:
    everything.era = Era.MODERN  # as if it had been put back to an older version
    everything.save()
    assert text_of(call_named(everything, None, "echo", {"message": "hello"})) == "Echo: hello"
    everything.refresh_from_db()
    assert everything.era == Era.HANDSHAKE


def test_an_unknown_tool_is_an_error_with_the_server_s_words(site_server: ToolServer) -> None:
    try:
        found = call_named(site_server, None, "no_such_tool", {})
    except ServerRefused as error:
        assert "no_such_tool" in str(error)
    else:
        assert isinstance(found, CallResult) and found.is_error


# --- tasks and questions --------------------------------------------------------------------------


def test_a_task_is_polled_to_its_result(site_server: ToolServer) -> None:
    handle = call_named(site_server, None, "long_mill", {"grain": "rye"})
    assert isinstance(handle, ToolTask) and handle.poll_seconds == 1.0

    def done() -> CallResult | None:
        found = get_task(site_server, None, handle.task_id)
        return found if isinstance(found, CallResult) else None

    assert text_of(eventually(done)) == 'milled {"grain": "rye"}'


def test_a_task_that_asks_is_answered_once(mill: SdkServer, site_server: ToolServer) -> None:
    mill.tell(work=0)
    handle = call_named(site_server, None, "long_question", {})
    assert isinstance(handle, ToolTask)
    wanted = get_task(site_server, None, handle.task_id)
    assert isinstance(wanted, InputWanted)
    assert wanted.questions["q"].message == "Which colour?"
    assert list(wanted.questions["q"].schema["properties"]) == ["colour"]
    answer_task(site_server, None, handle.task_id, {"q": {"action": "accept", "content": {"colour": "red"}}})
    assert "red" in text_of(get_task(site_server, None, handle.task_id))


def test_a_failed_task_and_a_cancelled_one_say_so(mill: SdkServer, site_server: ToolServer) -> None:
    mill.tell(work=0)
    failed = call_named(site_server, None, "long_failure", {})
    assert isinstance(failed, ToolTask)
    with pytest.raises(TaskFailed, match="The mill stands still"):
        get_task(site_server, None, failed.task_id)
    stopped = call_named(site_server, None, "long_mill", {})
    assert isinstance(stopped, ToolTask)
    cancel_task(site_server, None, stopped.task_id)
    with pytest.raises(TaskFailed, match="cancelled"):
        get_task(site_server, None, stopped.task_id)


def test_a_call_that_asks_is_made_again_with_the_answer_and_the_state(site_server: ToolServer) -> None:
    wanted = call_named(site_server, None, "question", {})
    assert isinstance(wanted, InputWanted) and wanted.state is not None and wanted.task_id == ""
    answers = {"q": {"action": "accept", "content": {"colour": "blue"}}}
    answered = call_named(site_server, None, "question", {}, answers=answers, state=wanted.state)
    assert "blue" in text_of(answered)


# --- failures -------------------------------------------------------------------------------------


def dead_server(settings: Settings) -> ToolServer:
    settings.BOUNDARY_ALLOWED_HOSTS = ["127.0.0.1:9"]
    return add_server(NewServer(url="http://127.0.0.1:9/mcp"))


def test_a_server_that_fails_is_left_alone_longer_each_time(settings: Settings) -> None:
    server = dead_server(settings)
    pauses = []
    for _ in range(3):
        ToolServer.objects.update(retry_at=None)
        server.refresh_from_db()
        with pytest.raises(ServerUnreachable):
            client.list_tools(server, None)
        server.refresh_from_db()
        pauses.append((server.retry_at - timezone.now()).total_seconds() if server.retry_at else 0)
    assert pauses[0] == 0 < pauses[1] < pauses[2]
    assert server.failures == 3
    with pytest.raises(ServerPaused, match="left alone"):
        client.list_tools(server, None)
    server.refresh_from_db()
    assert server.failures == 3  # nothing was sent, so nothing failed


def test_the_pause_has_an_end_and_a_success_ends_it(site_server: ToolServer) -> None:
    over = timezone.now() - timedelta(seconds=1)
    ToolServer.objects.update(failures=40, retry_at=over, last_error="gone")
    site_server.refresh_from_db()
    assert text_of(call_named(site_server, None, "echo", {"text": "a"})) == "a"
    site_server.refresh_from_db()
    assert (site_server.failures, site_server.retry_at, site_server.last_error) == (0, None, "")


def test_the_longest_pause_is_bounded(settings: Settings) -> None:
    server = dead_server(settings)
    ToolServer.objects.update(failures=1000)
    server.refresh_from_db()
    with pytest.raises(ServerUnreachable):
        client.list_tools(server, None)
    server.refresh_from_db()
    assert server.retry_at is not None
    left = (server.retry_at - timezone.now()).total_seconds()
    assert 0 < left <= limits.SERVER_LONGEST_PAUSE_SECONDS


def test_an_address_inside_the_network_is_refused_before_a_packet(
    site_server: ToolServer, settings: Settings
) -> None:
    settings.BOUNDARY_ALLOWED_HOSTS = []
    with pytest.raises(ServerMisbehaved, match="not on the public internet"):
        client.list_tools(site_server, None)
