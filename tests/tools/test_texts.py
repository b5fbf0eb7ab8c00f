"""Texts for people and instructions for the model are separate fields of a tool's result."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.tools.conftest import Bench, Done, NoArgs, call
from tools import errors, registry
from tools.base import tool
from tools.context import ToolContext
from tools.errors import ToolError, ToolOutcome

TOOLS = Path(errors.__file__).parent
SPEAK_TO_MODELS = {  # modules whose texts only a model reads
    "blocks/support/orchestration.py",
    "chat/continuations.py",
    "chat/engine/history.py",
    "chat/sub_sessions/callbacks.py",
    "executions/generator/block_index.py",
    "executions/generator/guide.py",
    "executions/generator/prompts.py",
    "workspace/preview.py",
}
FOR_THE_MODEL = (
    "`",
    "mend it and",
    "call again",
    "tell the user",
    "ask the user",
    "end your answer",
    "try again with",
)


def outcomes(kind: type[ToolOutcome] = ToolOutcome) -> Iterator[type[ToolOutcome]]:
    yield kind
    for inner in kind.__subclasses__():
        yield from outcomes(inner)


def texts_in(node: ast.AST) -> Iterator[str]:
    for inner in ast.walk(node):
        if isinstance(inner, ast.Constant) and isinstance(inner.value, str):
            yield inner.value


def messages_in(source: str) -> Iterator[str]:
    """Yield the texts that become the message of a result or of an outcome."""
    names = {kind.__name__ for kind in outcomes()}
    for node in (inner for inner in ast.walk(ast.parse(source)) if isinstance(inner, ast.Call)):
        if isinstance(node.func, ast.Name) and node.func.id in names and node.args:
            yield from texts_in(node.args[0])
        for keyword in node.keywords:
            if keyword.arg == "message":
                yield from texts_in(keyword.value)


def instructions_in(text: str) -> list[str]:
    """Return what a person cannot make use of: names of tools, arguments, and what the model should do."""
    known = [name for name in (each.name for each in registry.current().all()) if "_" in name]
    return [words for words in (*FOR_THE_MODEL, *known) if words in text.lower()]


@pytest.mark.parametrize("path", sorted(TOOLS.rglob("*.py")), ids=lambda path: str(path.relative_to(TOOLS)))
def test_no_message_that_people_read_instructs_the_model(path: Path) -> None:
    found = {text: words for text in messages_in(path.read_text()) if (words := instructions_in(text))}
    assert not found


def spoken_in(source: str) -> Iterator[str]:
    """Yield every text of a module but its docstrings, steps for the model, names of fields and single words."""
    tree = ast.parse(source)
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    docstrings = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, documented) and node.body and isinstance(node.body[0], ast.Expr)
    }
    steps = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.keyword) and node.arg == "next_step"
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and id(node) not in docstrings | steps
        ):
            yield from [node.value] if " " in node.value else []


PACKAGES = [
    *(
        "accounts",
        "blocks",
        "boundary",
        "chat",
        "connections",
        "copilot_project",
        "doors",
        "durable",
        "executions",
    ),
    *("llm", "webhooks", "workspace"),
]


@pytest.mark.parametrize("package", PACKAGES)
def test_nothing_outside_the_tools_speaks_to_the_model_in_words_that_people_read(package: str) -> None:
    root = TOOLS.parent
    found = {
        f"{path.relative_to(root)}: {text}": words
        for path in (root / package).rglob("*.py")
        if str(path.relative_to(root)) not in SPEAK_TO_MODELS
        for text in spoken_in(path.read_text())
        if (words := [each for each in instructions_in(text) if each != "`"])
    }
    assert not found


def texts_of_the_interface() -> Iterator[tuple[str, str]]:
    """Yield the texts of the UI in every language and of the pages, each with its file."""
    root = TOOLS.parent
    for path in sorted((root / "frontend" / "src" / "i18n").rglob("*.ts")):
        for value in re.findall(r":\s*(?:\n\s*)?(['\"`])(.+?)\1,?$", path.read_text(), re.MULTILINE):
            yield path.name, value[1]
    for folder in ("copilot_project", "durable"):
        for path in sorted((root / folder / "templates").rglob("*.html")):
            yield from ((path.name, text) for text in re.findall(r">([^<>{}]+)<", path.read_text()))


def test_no_text_of_the_interface_names_a_tool_or_instructs_the_model() -> None:
    texts = list(texts_of_the_interface())
    assert len(texts) > 1000
    found = {f"{name}: {text}": words for name, text in texts if (words := instructions_in(text))}
    assert not found


def test_no_default_message_instructs_the_model() -> None:
    found = {kind.__name__: instructions_in(kind.__doc__ or "") for kind in outcomes()}
    assert not {name: words for name, words in found.items() if words}


def test_the_check_finds_an_instruction() -> None:
    (text,) = messages_in('raise ToolError("Nothing is there. run_agent runs it.", code="x")')
    assert instructions_in(text) == ["run_agent"]


def test_the_model_is_told_what_to_do_in_a_field_of_its_own(bench: Bench) -> None:
    @tool()
    def advises(args: NoArgs, context: ToolContext) -> Done:
        """Succeed."""
        return Done(next_step="Do the next thing.")

    @tool()
    def refuses(args: NoArgs, context: ToolContext) -> Done:
        """Fail."""
        raise ToolError("It failed.", next_step="Do something else.")

    with registry.override(advises, refuses):
        done, failed = bench.run(call("advises", id="a"), call("refuses", id="b"))
    assert (done.output["message"], done.output["next_step"]) == ("Done.", "Do the next thing.")
    assert (failed.output["message"], failed.output["next_step"]) == ("It failed.", "Do something else.")
    assert failed.error_text == "It failed."


def test_a_result_without_advice_has_no_such_field(bench: Bench) -> None:
    assert "next_step" not in bench.run_one("test_pure").output
