"""What a request declares: version, headers, capabilities, and the signed note of older clients."""

from __future__ import annotations

import pytest

from accounts.api_keys import make_key
from accounts.models import User
from doors.callers import Caller
from doors.mcp import exchange, protocol
from doors.mcp.errors import BadParams, HeaderDiffers, NotARequest, VersionUnsupported
from doors.mcp.messages import RpcRequest, parse

META = {protocol.META_VERSION: protocol.MODERN, protocol.META_CAPABILITIES: {}}


def request(name: str = "ask_copilot", **meta: object) -> RpcRequest:
    return RpcRequest(id=1, method="tools/call", params={"name": name, "_meta": META | meta})


def headers(**changes: str) -> dict[str, str]:
    found = {
        protocol.VERSION_HEADER: protocol.MODERN,
        protocol.METHOD_HEADER: "tools/call",
        protocol.NAME_HEADER: "ask_copilot",
    }
    return found | changes


def test_request_that_agrees_with_its_headers_is_taken(caller: Caller) -> None:
    found = exchange.modern(request(), headers(), caller, accepts_stream=True)
    assert found.is_modern and not found.has_tasks and not found.has_elicitation


@pytest.mark.parametrize("name", [protocol.VERSION_HEADER, protocol.METHOD_HEADER, protocol.NAME_HEADER])
def test_header_that_differs_or_is_missing_is_refused(caller: Caller, name: str) -> None:
    for changed in ({**headers(), name: "other"}, {k: v for k, v in headers().items() if k != name}):
        with pytest.raises(HeaderDiffers):
            exchange.modern(request(), changed, caller, accepts_stream=True)


def test_unsupported_version_names_those_that_are_supported(caller: Caller) -> None:
    given = request(**{protocol.META_VERSION: "2099-01-01"})
    with pytest.raises(VersionUnsupported) as error:
        exchange.modern(
            given, headers(**{protocol.VERSION_HEADER: "2099-01-01"}), caller, accepts_stream=True
        )
    assert error.value.data == {"requested": "2099-01-01", "supported": [protocol.MODERN]}


def test_names_outside_ascii_come_encoded() -> None:
    assert exchange.decoded("=?base64?w7w=?=") == "ü"
    assert exchange.decoded("=?base64?%%?=") is None
    assert exchange.decoded("  plain ") == "plain"
    assert exchange.decoded(None) is None


def test_session_id_carries_what_the_client_declared_to_its_owner_only(caller: Caller) -> None:
    text = exchange.session_id(caller, {"elicitation": {"form": {}}, "sampling": {}})
    assert exchange.capabilities_in(text, caller) == {"elicitation": {"form": {}}}
    key, _ = make_key(User.objects.create_user("eve"), "k")
    assert exchange.capabilities_in(text, Caller(user=key.user, key=key)) == {}
    assert exchange.capabilities_in(text + "x", caller) == {}
    assert exchange.capabilities_in("", caller) == {}


def test_older_version_that_is_unknown_is_refused(caller: Caller) -> None:
    with pytest.raises(NotARequest):
        exchange.older(request(), {protocol.VERSION_HEADER: "2024-11-05"}, caller, accepts_stream=True)


def test_parameters_of_the_wrong_type_are_refused(caller: Caller) -> None:
    found = exchange.modern(request(), headers(), caller, accepts_stream=True)
    with pytest.raises(BadParams):
        found.text("missing")
    with pytest.raises(BadParams):
        found.mapping("name")


@pytest.mark.parametrize("text", ["1", "null", '{"jsonrpc":"2.0"}', '{"jsonrpc":"2.0","result":{}}'])
def test_message_without_method_and_id_is_none(text: str) -> None:
    with pytest.raises(NotARequest):
        parse(text)
