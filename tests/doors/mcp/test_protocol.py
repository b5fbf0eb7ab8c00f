"""Names and numbers of the protocol are those of its official types, and what we send fits them."""

from __future__ import annotations

import tomllib
from collections.abc import Callable

import mcp_types
import pytest
from mcp_types import jsonrpc, methods, version

from doors.mcp import errors, protocol
from doors.mcp import methods as ours
from doors.mcp.errors import BadParams, McpError, UnknownMethod
from doors.mcp.exchange import Exchange
from tests.harness import ROOT

Make = Callable[..., Exchange]


def test_names_are_those_of_the_official_types() -> None:
    assert protocol.META_VERSION == mcp_types.PROTOCOL_VERSION_META_KEY
    assert protocol.META_CAPABILITIES == mcp_types.CLIENT_CAPABILITIES_META_KEY
    assert protocol.META_SERVER == mcp_types.SERVER_INFO_META_KEY
    assert protocol.MODERN == version.LATEST_MODERN_VERSION
    assert protocol.HANDSHAKE[0] == version.LATEST_HANDSHAKE_VERSION
    assert set(protocol.HANDSHAKE) <= set(version.HANDSHAKE_PROTOCOL_VERSIONS)


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        (errors.UnreadableMessage, jsonrpc.PARSE_ERROR),
        (errors.NotARequest, jsonrpc.INVALID_REQUEST),
        (errors.UnknownMethod, jsonrpc.METHOD_NOT_FOUND),
        (errors.BadParams, jsonrpc.INVALID_PARAMS),
        (errors.InternalFault, jsonrpc.INTERNAL_ERROR),
        (errors.HeaderDiffers, jsonrpc.HEADER_MISMATCH),
        (errors.CapabilityMissing, jsonrpc.MISSING_REQUIRED_CLIENT_CAPABILITY),
        (errors.VersionUnsupported, jsonrpc.UNSUPPORTED_PROTOCOL_VERSION),
    ],
)
def test_codes_are_those_of_the_official_types(kind: type[McpError], code: int) -> None:
    assert kind.code == code


def test_version_is_that_of_the_product() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert protocol.server_info()["version"] == project["version"]


@pytest.mark.parametrize(
    "method", ["server/discover", "tools/list", "resources/list", "resources/templates/list"]
)
def test_results_fit_the_official_types_of_the_newer_era(exchange: Make, method: str) -> None:
    methods.validate_server_result(method, protocol.MODERN, ours.answer(exchange(method)))


@pytest.mark.parametrize("method", ["initialize", "ping", "tools/list", "resources/list"])
@pytest.mark.parametrize("era", protocol.HANDSHAKE)
def test_results_fit_the_official_types_of_the_older_era(exchange: Make, method: str, era: str) -> None:
    found = ours.answer(exchange(method, version=era, protocolVersion=era, capabilities={}))
    methods.validate_server_result(method, era, found)


def test_methods_of_the_other_era_are_unknown(exchange: Make) -> None:
    with pytest.raises(UnknownMethod):
        ours.answer(exchange("initialize"))
    with pytest.raises(UnknownMethod):
        ours.answer(exchange("server/discover", version=protocol.HANDSHAKE[0]))
    with pytest.raises(UnknownMethod):
        ours.answer(exchange("prompts/list"))


@pytest.mark.parametrize("cursor", ["", "%", "LTE=", "OTk5OTk5OTk5OTk=", 7])
def test_cursor_that_is_not_ours_is_refused(exchange: Make, cursor: object) -> None:
    with pytest.raises(BadParams):
        ours.answer(exchange("tools/list", cursor=cursor))
