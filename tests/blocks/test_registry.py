"""The catalogue: discovery, duplicates, system check."""

from __future__ import annotations

import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.apps import apps
from django.test import override_settings

from blocks.base import Block
from blocks.errors import BadBlock, DuplicateBlock, UnknownBlock
from blocks.registry import BlockRegistry, blocks_of, check_blocks, get_registry
from blocks.schema import BlockOutputs, Text
from tests.blocks.sample import SAMPLE_ID, make_block

EXTENSION = '''
from blocks.base import Category, block
from blocks.examples import Example
from blocks.schema import BlockInputs, BlockOutputs, Text


class Inputs(BlockInputs):
    text: Text


class Outputs(BlockOutputs):
    loud: Text


@block(
    id="{id}",
    name="Shout",
    category=Category.TEXT,
    inputs=Inputs,
    outputs=Outputs,
    examples=[Example(inputs={{"text": "a"}}, outputs=[("loud", "A!")]), Example(inputs={{}}, error="needs")],
)
def shout(inputs, context):
    """Says it loudly."""
    yield "loud", inputs.text.upper() + "!"
'''


@pytest.fixture
def fresh_registry() -> Iterator[None]:
    get_registry.cache_clear()
    yield
    get_registry.cache_clear()


@pytest.fixture
def other_app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fresh_registry: None) -> Iterator[Path]:
    """An installed app of someone else with a `copilot_blocks` module."""
    package = tmp_path / "other_app_of_a_test"
    package.mkdir()
    (package / "__init__.py").write_text("")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield package
    for name in [name for name in sys.modules if name.startswith(package.name)]:
        del sys.modules[name]


def installed(package: Path) -> override_settings:
    from django.conf import settings

    return override_settings(INSTALLED_APPS=[*settings.INSTALLED_APPS, package.name])


def test_blocks_of_other_apps_are_found_like_admin_modules(other_app: Path) -> None:
    (other_app / "copilot_blocks.py").write_text(EXTENSION.format(id=SAMPLE_ID))
    with installed(other_app):
        registry = get_registry()
        block = registry.get(SAMPLE_ID)
        assert (block.name, registry.origin(block)) == ("Shout", "other_app_of_a_test.copilot_blocks")
        assert check_blocks() == []


def test_an_app_without_blocks_is_fine(other_app: Path) -> None:
    with installed(other_app):
        assert len(get_registry()) == 85


def test_a_block_with_an_id_that_is_taken_is_refused_and_the_check_says_who(other_app: Path) -> None:
    calculator = "b1ab9b19-67a6-406d-abf5-2dba76d00c79"
    (other_app / "copilot_blocks.py").write_text(EXTENSION.format(id=calculator))
    with installed(other_app):
        with pytest.raises(
            DuplicateBlock, match=r"other_app_of_a_test\.copilot_blocks has the id or the name of 'Calc"
        ):
            get_registry()
        (problem,) = check_blocks()
        assert problem.id == "blocks.E001"
        assert "blocks.catalog.calculator" in str(problem.msg)


def test_two_blocks_of_one_name_are_refused() -> None:
    first = make_block(name="Shout")
    second = make_block(name=" shout", id="00000000-0000-4000-8000-000000000002")
    with pytest.raises(DuplicateBlock):
        BlockRegistry([(first, "a"), (second, "b")])


def test_the_same_block_imported_twice_is_one_block() -> None:
    module = types.ModuleType("m")
    block = make_block()
    vars(module).update({"one": block, "again": block, "number": 5})
    assert len(BlockRegistry(blocks_of(module))) == 1


def test_blocks_are_found_by_id_and_by_name() -> None:
    registry = get_registry()
    block = registry.get_by_name("  send WEB request ")
    assert registry.get(block.id.upper()) is block
    assert block.id in registry
    assert "nonsense" not in registry
    assert 5 not in registry


def test_an_unknown_block_is_named() -> None:
    with pytest.raises(UnknownBlock, match="no block 'x'"):
        get_registry().get("x")
    with pytest.raises(UnknownBlock, match="named 'Nothing'"):
        get_registry().get_by_name("Nothing")


def test_the_check_asks_for_examples_of_both_kinds(
    fresh_registry: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("blocks.registry.get_registry", lambda: BlockRegistry([(make_block(), "somewhere")]))
    (problem,) = check_blocks()
    assert problem.id == "blocks.E002"
    assert "somewhere" in str(problem.msg)


def test_the_check_is_registered() -> None:
    from django.core.checks.registry import registry

    assert "blocks" in registry.tags_available()
    assert apps.is_installed("executions")


def test_a_declaration_that_contradicts_itself_is_refused() -> None:
    class WithError(BlockOutputs):
        error: Text

    cases: list[tuple[dict[str, Any], str]] = [
        ({"id": "5"}, "Use a UUID"),
        ({"id": SAMPLE_ID.replace("-", "")}, "Write it as"),
        ({"name": ""}, "needs a name"),
        ({"outputs": WithError}, "declares the pin `error`"),
        ({"repeats": ("nothing",)}, "not among its outputs"),
    ]
    for facts, words in cases:
        with pytest.raises(BadBlock, match=words):
            make_block(**facts)


def test_every_block_has_a_schema_that_is_json() -> None:
    import json

    from jsonschema import Draft202012Validator

    for block in get_registry():
        for schema in (block.input_schema, block.output_schema):
            Draft202012Validator.check_schema(schema)
            json.dumps(schema)


def test_only_blocks_that_make_sense_alone_run_alone() -> None:
    not_alone = {block.name for block in get_registry() if not block.runs_alone}
    assert {
        "Agent Input",
        "Agent Output",
        "AutoPilot",
        "Agent Executor",
        "Generic Webhook Trigger",
    } <= not_alone
    assert "Calculator" not in not_alone


def test_time_caps_are_those_of_the_format() -> None:
    caps = {block.name: block.time_cap_seconds for block in get_registry()}
    assert caps.pop("Agent Executor") is None
    assert caps.pop("AutoPilot") is None
    assert caps.pop("Countdown Timer") == 7 * 86_400 + 60
    assert set(caps.values()) == {1800.0}


def test_a_block_is_immutable() -> None:
    block: Block = get_registry().get_by_name("Calculator")
    with pytest.raises(AttributeError):
        block.name = "Other"  # type: ignore[misc]
