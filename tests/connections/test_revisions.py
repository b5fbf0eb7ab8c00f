"""Our words of the protocol are those of the package that defines them."""

from __future__ import annotations

import mcp_types
from mcp_types import jsonrpc, version

from connections import revisions


def test_keys_codes_and_revisions_are_those_of_the_protocol() -> None:
    ours = {name: value for name, value in vars(revisions).items() if name.isupper()}
    theirs = vars(mcp_types) | vars(jsonrpc) | vars(version)
    assert len(ours) > 8
    assert {name: theirs[name] for name in ours} == ours
