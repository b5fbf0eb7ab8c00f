"""Definitions: what makes a tool, what is refused, and what the model is told of it."""

from __future__ import annotations

import json
import math
from typing import Any, Literal

import pytest
from pydantic import BaseModel, Field, ValidationError

from tests.tools.conftest import Bench, Done, NoArgs
from tools import limits, registry, schema
from tools.base import Effect, Tool, ToolArgs, ToolResult, Verbatim, WaitSeconds, tool
from tools.context import ToolContext
from tools.errors import BadTool, DuplicateTool, SchemasTooLarge
from tools.permissions import Permissions
from tools.registry import check_tools


class Question(BaseModel):
    """One question."""

    text: str = Field(description="What to ask.")
    options: list[str] | None = None


class Args(ToolArgs):
    """Arguments with everything in them."""

    title: str = Field(min_length=1, description="A title.")
    questions: list[Question] = Field(max_length=3)
    kind: Literal["a", "b"] = "a"
    size: int | None = Field(default=None, ge=1)
    either: int | str | None = None
    data: dict[str, Any] = Field(default_factory=dict)
    best: Question | None = None
    wait: WaitSeconds = 0


@tool()
def everything(args: Args, context: ToolContext) -> Done:
    """Do everything.

    With care.
    """
    return Done()


class Stripped(ToolArgs):
    name: str = Field(min_length=1)
    ids: list[str] = Field(default_factory=list)
    text: Verbatim = ""


def test_strings_lose_the_blanks_around_them_unless_they_are_verbatim() -> None:
    args = Stripped.model_validate({"name": " a b\n", "ids": ["\tx "], "text": "  kept\n"})
    assert (args.name, args.ids, args.text) == ("a b", ["x"], "  kept\n")
    with pytest.raises(ValidationError):
        Stripped.model_validate({"name": "   "})


def test_the_schema_is_compact_and_complete() -> None:
    spec = schema.spec(everything)
    question = {
        "description": "One question.",
        "properties": {
            "text": {"description": "What to ask.", "type": "string"},
            "options": {"items": {"type": "string"}, "type": "array"},
        },
        "required": ["text"],
        "type": "object",
    }
    assert (spec.name, spec.description) == ("everything", "Do everything.\n\nWith care.")
    assert spec.parameters == {
        "type": "object",
        "properties": {
            "title": {"description": "A title.", "minLength": 1, "type": "string"},
            "questions": {"items": question, "maxItems": 3, "type": "array"},
            "kind": {"default": "a", "enum": ["a", "b"], "type": "string"},
            "size": {"minimum": 1, "type": "integer"},
            "either": {"anyOf": [{"type": "integer"}, {"type": "string"}]},
            "data": {"type": "object"},
            "best": question,
            "wait": {"default": 0, "maximum": 300.0, "minimum": 0, "type": "number"},
        },
        "required": ["title", "questions"],
        "additionalProperties": False,
    }


def test_a_tool_without_arguments_has_an_empty_object() -> None:
    @tool()
    def nothing(args: NoArgs, context: ToolContext) -> Done:
        """Nothing."""
        return Done()

    assert schema.spec(nothing).parameters == {
        "type": "object",
        "properties": {},
        "additionalProperties": False,
    }


class Tree(BaseModel):
    children: list[Tree] = []


class TreeArgs(ToolArgs):
    tree: Tree


def test_a_schema_that_refers_to_itself_is_refused() -> None:
    @tool()
    def grow(args: TreeArgs, context: ToolContext) -> Done:
        """Grow."""
        return Done()

    with pytest.raises(BadTool, match="refers to itself"):
        schema.spec(grow)


@pytest.mark.parametrize(
    ("given", "held"),
    [(-5, 0), (0, 0), (12.5, 12.5), (10**9, 300), (math.inf, 300), (-math.inf, 0), (math.nan, 0)],
)
def test_a_wait_is_held_between_nothing_and_the_longest_we_allow(given: float, held: float) -> None:
    assert Args(title="t", questions=[], wait=given).wait == held


def test_a_tool_can_be_called_like_the_function_it_is(bench: Bench) -> None:
    assert everything(Args(title="t", questions=[]), bench.context()) == Done()


class ReturnsNothing:
    pass


def no_docstring(args: NoArgs, context: ToolContext) -> Done:
    return Done()


def no_context(args: NoArgs) -> Done:
    """No context."""
    return Done()


def no_args_model(args: dict[str, Any], context: ToolContext) -> Done:
    """No model."""
    return Done()


def no_result(args: NoArgs, context: ToolContext) -> ReturnsNothing:
    """No result."""
    return ReturnsNothing()


def fine(args: NoArgs, context: ToolContext) -> Done:
    """Fine."""
    return Done()


@pytest.mark.parametrize(
    ("function", "options", "words"),
    [
        (no_docstring, {}, "no docstring"),
        (no_context, {}, "must be defined as"),
        (no_args_model, {}, "must be defined as"),
        (no_result, {}, "to return a ToolResult"),
        (fine, {"name": "not a name"}, "not a valid tool name"),
        (fine, {"name": "x" * 65}, "not a valid tool name"),
        (fine, {"effect": Effect.EFFECTFUL}, "`lookup` is required"),
        (fine, {"lookup": lambda args, context: None}, "`lookup` is required"),
        (fine, {"cap_seconds": 0}, "cap_seconds"),
        (fine, {"cap_seconds": 10_000}, "cap_seconds"),
    ],
)
def test_a_definition_that_cannot_work_is_refused_at_once(
    function: Any, options: dict[str, Any], words: str
) -> None:
    with pytest.raises(BadTool, match=words):
        tool(**options)(function)


class Other(ToolResult):
    type: str = "other"
    message: str = ""


def test_a_tool_may_have_several_kinds_of_results() -> None:
    def two(args: NoArgs, context: ToolContext) -> Done | Other:
        """Two kinds."""
        return Other()

    assert isinstance(tool()(two), Tool)


# --- the registry ---------------------------------------------------------------------------------


def test_two_tools_with_one_name_are_refused() -> None:
    with pytest.raises(DuplicateTool, match=r"tests\.tools\.test_base"):
        registry.ToolRegistry([tool()(fine), tool()(fine)])


def test_the_offer_is_sorted_and_the_same_every_time(bench: Bench) -> None:
    first = registry.offered(bench)
    assert [spec.name for spec in first] == sorted(spec.name for spec in first)
    assert first == registry.offered(bench)


def test_the_offer_leaves_out_what_is_denied_and_what_this_machine_cannot_do(bench: Bench) -> None:
    here, gone, denied = (
        tool(name=name, available=lambda can=can: can)(fine)  # type: ignore[misc]
        for name, can in [("here", True), ("gone", False), ("denied", True)]
    )
    bench.permissions = Permissions.parse({"tools": {"deny": ["denied"]}})
    with registry.override(here, gone, denied, only=True):
        assert [spec.name for spec in registry.offered(bench)] == ["here"]
        assert bench.run_one("gone").output["error"] == "unknown_tool"


def test_a_tool_imported_from_another_module_is_not_added_twice() -> None:
    from tests.testtools import copilot_tools

    found = registry.ToolRegistry()
    found.add_module(copilot_tools)
    found.add_module(copilot_tools)
    assert found.get("test_pure") is copilot_tools.test_pure
    assert found.get("unknown") is None


def test_the_tools_of_an_installed_app_are_found() -> None:
    assert registry.discover().get("test_effect") is not None


def test_preparing_asks_every_tool_whether_it_is_available() -> None:
    asked: list[str] = []
    wanted = tool(name="asked", available=lambda: not asked.append("asked"))(fine)  # type: ignore[func-returns-value]
    with registry.override(wanted, only=True):
        registry.prepare()
    assert asked == ["asked"]


def test_override_ends_also_after_an_error() -> None:
    before = registry.current()
    with pytest.raises(RuntimeError), registry.override(tool()(fine)):
        assert registry.current().get("fine") is not None
        raise RuntimeError
    assert registry.current() is before


def test_all_schemas_together_fit_and_the_sizes_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    """The limit is for what the product brings; test tools are not counted."""
    tools = [found for found in registry.current().all() if not found.module.startswith("tests.")]
    sizes = {found.name: schema.size(found) for found in tools}
    with capsys.disabled():
        print("\nschema characters per tool:")
        for name, characters in sorted(sizes.items(), key=lambda item: -item[1]):
            print(f"  {characters:6,}  {name}")
        print(f"  {sum(sizes.values()):6,}  of {limits.MAX_TOOL_SCHEMA_CHARACTERS:,}")
    registry.ToolRegistry(tools).check_size()
    assert all(json.dumps(schema.spec(found).parameters) for found in tools)


def test_schemas_that_do_not_fit_are_a_failed_check(monkeypatch: pytest.MonkeyPatch) -> None:
    assert check_tools() == []
    monkeypatch.setattr(limits, "MAX_TOOL_SCHEMA_CHARACTERS", 10)
    with pytest.raises(SchemasTooLarge):
        registry.current().check_size()
    assert [message.id for message in check_tools()] == ["tools.E001"]
