"""Every parser, block and tool as a fuzzing target."""

from __future__ import annotations

import json
import random
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from attack.fuzz import corpus
from attack.fuzz.budget import CPU_SECONDS, Target
from blocks import limits
from blocks.base import Block
from blocks.errors import BlockCrashed, BlockError, BlockParked, OutputError
from blocks.examples import World
from blocks.registry import get_registry
from blocks.run import run_block
from boundary.errors import ParserBusy, ParserCrashed, ParserStopped, UnreadableContent
from boundary.parser_process import parse_isolated
from durable.stop_signal import StopSignal
from llm.types import Completion, Request, ToolCallRequest
from tests.blocks.doubles import ScriptedModel, make_context, make_ports

MOST_EMISSIONS = 200
TOO_LONG_A_KEY = "an object has a key of"  # what no database takes is refused behind the block, by name
TABLE_LIMITS = {
    "max_rows": limits.MAX_SPREADSHEET_ROWS,
    "max_cells": limits.MAX_SPREADSHEET_CELLS,
    "max_characters": limits.MAX_BLOCK_TEXT_CHARACTERS,
    "max_bytes": limits.MAX_SPREADSHEET_BYTES,
}
DIALECTS = [
    {"delimiter": one, "quotechar": '"', "escapechar": escape} for one in ",;\t|" for escape in (None, "\\")
]
PICTURE_FORMATS = ("PNG", "JPEG", "GIF", "WEBP")
WITH_PATTERNS = {
    "Match Text Pattern",
    "Extract Text Information",
}  # people bring their own, which are ended by a clock
LEFT_OUT = {"bash_exec"}  # what it is given is run in the sandbox, which has attacks of its own


def all_targets() -> list[Target]:
    return [*parsers(), *blocks(), *tools()]


# --- parsers ----------------------------------------------------------------------------------------


def parsers() -> Iterator[Target]:
    """Yield each module of boundary/parsers, in the isolated process and with the limits of the product."""
    for name, arguments in PARSER_ARGUMENTS.items():
        make = partial(make_content, arguments)
        yield Target(name=f"parser {name}", make=make, give=partial(give_parser, f"boundary.parsers.{name}"))


def table_arguments(chance: random.Random) -> dict[str, Any]:
    return {"limits": TABLE_LIMITS} | ({"dialect": chance.choice(DIALECTS)} if chance.random() < 0.5 else {})


def picture_arguments(chance: random.Random) -> dict[str, Any]:
    sizes = {"max_edge": 512, "max_bytes": 200_000, "max_pixels": 50_000_000}
    return {"format": chance.choice(PICTURE_FORMATS), **sizes}


PARSER_ARGUMENTS = {
    "charset": lambda chance: {},
    "feeds": lambda chance: {},
    "html": lambda chance: {"url": "https://example.com/", "max_depth": 200, "max_characters": 200_000},
    "pictures": picture_arguments,
    "tables": table_arguments,
    "tagged_text": lambda chance: {"max_tags": 100_000, "max_depth": 200},
}


def make_content(arguments: Any, chance: random.Random) -> tuple[bytes, dict[str, Any]]:
    return corpus.content(chance), arguments(chance)


def give_parser(module: str, made: tuple[bytes, dict[str, Any]]) -> str:
    body, arguments = made
    try:
        found = parse_isolated(module, body, arguments)
    except UnreadableContent as error:
        assert str(error), "it refused without a word"
        return "refused"
    except ParserStopped:
        return "stopped by its limits"
    except ParserBusy:
        return "busy"
    except ParserCrashed as error:
        raise AssertionError("the parser crashed") from error
    json.dumps(found)
    return "answered"


# --- blocks -----------------------------------------------------------------------------------------


def blocks() -> Iterator[Target]:
    """Yield each block, with test doubles for its ports."""
    for block in get_registry():
        more = limits.REGEX_SECONDS if block.name in WITH_PATTERNS else 0.0
        yield Target(
            name=f"block {block.name}",
            make=partial(make_inputs, block),
            give=partial(give_block, block),
            cpu_seconds=CPU_SECONDS + more,
        )


def make_inputs(block: Block, chance: random.Random) -> tuple[dict[str, Any], int]:
    """Return inputs: those of an example with a pin or two replaced, or all generated."""
    pins = {pin.name: dict(pin.schema) for pin in block.input_pins}
    numbers = [number for number, example in enumerate(block.examples) if example.inputs]
    if numbers and chance.random() < 0.7:
        chosen = chance.choice(numbers)
        inputs = dict(block.examples[chosen].inputs)
        for name in chance.sample(sorted(pins), min(len(pins), chance.randint(1, 2))):
            inputs[name] = corpus.value(pins[name], chance)
        return inputs, chosen
    wanted = {name for name in pins if block.inputs_by_name[name].required or chance.random() < 0.4}
    return {name: corpus.value(pins[name], chance) for name in sorted(wanted)}, -1


def give_block(block: Block, made: tuple[dict[str, Any], int]) -> str:
    inputs, example = made
    world = block.examples[example].world if example >= 0 else World()
    ports = replace(make_ports(world), model=Parrot(list(world.replies)))
    try:
        for count, (pin, value) in enumerate(run_block(block, inputs, make_context(ports=ports))):
            assert pin in block.outputs_by_name or block.dynamic_outputs is not None, f"it emitted on {pin!r}"
            json.dumps(value, allow_nan=False).encode()
            if count >= MOST_EMISSIONS:
                break
    except (BlockCrashed, OutputError) as error:
        if TOO_LONG_A_KEY in str(error):
            return "failed with a sentence"
        raise AssertionError(f"{error} ({error.__cause__!r:.300})") from error
    except (BlockError, BlockParked) as error:
        assert str(error), "it failed without a word"
        return "failed with a sentence"
    return "answered"


class Parrot:
    """A model that gives scripted replies, then always an empty JSON object."""

    def __init__(self, replies: list[Any]) -> None:
        self._replies = replies

    def complete(self, request: Request, cancel: StopSignal) -> Completion:
        reply = self._replies.pop(0) if self._replies else "```json\n{}\n```"
        return ScriptedModel(replies=[reply]).complete(request, cancel)


# --- tools ------------------------------------------------------------------------------------------


def tools() -> Iterator[Target]:
    """Yield each tool, called through the dispatcher as a turn does."""
    from tools import registry
    from tools.schema import parameters

    for tool in registry.discover().all():
        if not tool.name.startswith("test_") and tool.name not in LEFT_OUT:
            make = partial(make_arguments, parameters(tool.args))
            yield Target(name=f"tool {tool.name}", make=make, give=partial(give_tool, tool.name))


def make_arguments(schema: Mapping[str, Any], chance: random.Random) -> str:
    if chance.random() < 0.1:
        return corpus.text(chance)
    made = corpus.members(schema, chance, 0)
    for name in made:
        if "wait" in name:
            made[name] = 0
    return corpus.as_json(made)


def give_tool(name: str, arguments: str) -> str:
    from accounts.models import User
    from tests.tools.conftest import Bench

    bench = Bench(user=User.objects.get(username="ann"))
    [finished] = bench.run(ToolCallRequest(id=uuid.uuid4().hex, name=name, arguments=arguments))
    output = finished.output
    assert output.get("error") != "internal", f"it crashed: {str(output)[:300]}"
    assert output["type"] and output["message"], f"it answered without a word: {str(output)[:300]}"
    json.dumps(output, allow_nan=False).encode()
    return "failed with a sentence" if output["type"] == "error" else "answered"
