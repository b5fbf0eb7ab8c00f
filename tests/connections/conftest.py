"""People, and servers that run as real processes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pytest_django import Settings

from connections.models import ToolServer
from connections.servers import NewServer, add_server
from tests.connections.running_servers import SdkServer, everything_server, sdk_server
from tests.executions.people import ada, as_ada, bob
from tests.needs import MCP_SERVERS, require

__all__ = ["ada", "as_ada", "bob"]


@pytest.fixture(scope="module")
def sdk_process() -> Iterator[SdkServer]:
    with sdk_server() as running:
        yield running


@pytest.fixture(scope="module")
def everything_process() -> Iterator[str]:
    require(MCP_SERVERS)
    with everything_server() as host:
        yield host


@pytest.fixture
def mill(sdk_process: SdkServer, settings: Settings) -> SdkServer:
    """A server on the official SDK, which speaks both eras."""
    settings.BOUNDARY_ALLOWED_HOSTS = settings.BOUNDARY_PLAINTEXT_HOSTS = [sdk_process.host]
    return sdk_process


@pytest.fixture
def site_server(mill: SdkServer, db: None) -> ToolServer:
    return add_server(NewServer(url=mill.url, name="mill"))


@pytest.fixture
def everything(everything_process: str, settings: Settings, db: None) -> ToolServer:
    """A server of the npm registry, which speaks the handshake era only."""
    settings.BOUNDARY_ALLOWED_HOSTS = [everything_process]
    return add_server(NewServer(url=f"http://{everything_process}/mcp", name="everything"))
