"""Allow and deny lists, and the rule that a child never has more than its parent."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools.errors import BadPermissions
from tools.permissions import MAX_NAMES, NameList, Permissions, narrow

names = st.sampled_from(["a", "b", "c", "d"])
lists = st.builds(NameList, allow=st.none() | st.frozensets(names), deny=st.frozensets(names))
permissions = st.builds(Permissions, tools=lists, blocks=lists)


def test_without_lists_everything_is_allowed() -> None:
    assert Permissions().allows_tool("anything")
    assert (
        Permissions.parse(None)
        == Permissions.parse({})
        == Permissions.parse({"tools": None})
        == Permissions()
    )


def test_only_what_is_on_the_allow_list_is_allowed() -> None:
    found = Permissions.parse({"tools": {"allow": ["web_fetch"], "deny": []}})
    assert found.allows_tool("web_fetch") and not found.allows_tool("bash_exec")


def test_an_empty_allow_list_allows_nothing() -> None:
    assert not Permissions.parse({"tools": {"allow": []}}).allows_tool("web_fetch")


def test_a_denial_wins() -> None:
    assert not Permissions.parse({"tools": {"allow": ["x"], "deny": ["x"]}}).allows_tool("x")


def test_a_block_is_meant_by_its_id_or_its_name() -> None:
    found = Permissions.parse({"blocks": {"deny": ["Send Email"]}})
    assert not found.allows_block("some-id", "Send Email")
    assert found.allows_block("other-id", "Add")


@given(permissions)
def test_the_json_form_says_it_all(value: Permissions) -> None:
    assert Permissions.parse(value.as_json()) == value


@given(permissions, permissions, names)
def test_a_child_may_use_exactly_what_both_allow(parent: Permissions, child: Permissions, name: str) -> None:
    both = narrow(parent, child)
    assert both.allows_tool(name) == (parent.allows_tool(name) and child.allows_tool(name))
    assert both.allows_block(name) == (parent.allows_block(name) and child.allows_block(name))


@pytest.mark.parametrize(
    ("value", "place"),
    [
        ([], "permissions"),
        ("all", "permissions"),
        ({"tool": {}}, "'tool'"),
        ({"tools": []}, "tools"),
        ({"tools": {"allowed": []}}, "'allowed'"),
        ({"tools": {"allow": "web_fetch"}}, "tools.allow"),
        ({"tools": {"allow": [1]}}, "tools.allow"),
        ({"tools": {"allow": {"web_fetch": True}}}, "tools.allow"),
        ({"blocks": {"deny": [""]}}, "blocks.deny"),
        ({"blocks": {"deny": ["x" * 201]}}, "blocks.deny"),
        ({"blocks": {"deny": ["x"] * (MAX_NAMES + 1)}}, "blocks.deny"),
    ],
)
def test_a_wrong_value_is_refused_with_its_place(value: Any, place: str) -> None:
    with pytest.raises(BadPermissions, match=place):
        Permissions.parse(value)
