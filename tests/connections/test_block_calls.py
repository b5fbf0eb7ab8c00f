"""The MCP block of agents at servers that the person has connected."""

from __future__ import annotations

import pytest

from accounts.models import User
from blocks.ports import PortError
from blocks.tool_servers import connected_servers
from connections import tool_lists
from connections.models import ServerTool, ToolServer
from connections.servers import NewServer, add_server
from tests.connections.running_servers import SdkServer

pytestmark = pytest.mark.django_db


@pytest.fixture
def own(mill: SdkServer, ada: User) -> ToolServer:
    server = add_server(NewServer(url=mill.url, user=ada))
    tool_lists.refresh(server, ada.pk)
    return server


def test_an_agent_calls_a_connected_server_of_the_current_revision(ada: User, own: ToolServer) -> None:
    found = connected_servers.call(str(ada.pk), own.url, "echo", {"text": "hi"})
    assert found is not None and found["content"][0]["text"] == "hi"
    own.refresh_from_db()
    assert own.era == ToolServer.Era.MODERN


def test_what_is_not_connected_is_left_to_the_block(ada: User, bob: User, own: ToolServer) -> None:
    assert connected_servers.call(str(bob.pk), own.url, "echo", {}) is None
    assert connected_servers.call(str(ada.pk), "https://elsewhere.example/mcp", "echo", {}) is None
    assert connected_servers.call("an example", own.url, "echo", {}) is None
    assert connected_servers.call(str(ada.pk), "no address", "echo", {}) is None


def test_a_changed_tool_and_a_task_are_refused_with_a_sentence(ada: User, own: ToolServer) -> None:
    with pytest.raises(PortError, match="works in chat only"):
        connected_servers.call(str(ada.pk), own.url, "long_mill", {})
    ServerTool.objects.update(state=ServerTool.State.CHANGED)
    with pytest.raises(PortError, match="approve it"):
        connected_servers.call(str(ada.pk), own.url, "echo", {"text": "x"})
