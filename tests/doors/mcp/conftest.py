"""Callers and exchanges to test the MCP server with, without a server."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from accounts.api_keys import make_key
from accounts.models import User
from doors.callers import Caller
from doors.mcp import protocol
from doors.mcp.exchange import Exchange
from doors.mcp.messages import RpcRequest


@pytest.fixture
def caller(db: None) -> Caller:
    key, _ = make_key(User.objects.create_user("ada"), "laptop")
    return Caller(user=key.user, key=key)


@pytest.fixture
def exchange(caller: Caller) -> Callable[..., Exchange]:
    def make(method: str = "tools/call", *, version: str = protocol.MODERN, **params: Any) -> Exchange:
        request = RpcRequest(id=1, method=method, params=params)
        return Exchange(request=request, caller=caller, version=version)

    return make
