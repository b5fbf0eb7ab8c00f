"""Rendering a template within limits: simple ones here, all others in a process that can be killed."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from contextvars import ContextVar
from functools import cache, lru_cache
from pathlib import Path
from types import CodeType
from typing import Any

from jinja2 import Template, nodes

from durable import limits
from executions.blocks.errors import BlockFailed
from executions.blocks.isolation import IsolatedFailed, run_isolated
from executions.blocks.schema import JSON
from executions.blocks.templates.isolated import WRONG_TEMPLATE, TemplateEnvironment, explain
from executions.blocks.templates.safe import MAX_SOURCE_CHARACTERS, is_safe

CHILD = Path(__file__).with_name("isolated.py")


class Budget:
    """What one rendering may still use."""

    def __init__(self) -> None:
        self.steps = limits.MAX_TEMPLATE_STEPS
        self.characters = limits.MAX_TEMPLATE_OUTPUT_CHARACTERS
        self.deadline = time.monotonic() + limits.TEMPLATE_SECONDS

    def step(self, characters: int) -> None:
        self.steps -= 1
        self.write(characters)
        if self.steps < 0 or time.monotonic() > self.deadline:
            raise ValueError("the template's loops take too long")

    def write(self, characters: int) -> None:
        self.characters -= characters
        if self.characters < 0:
            raise ValueError(f"the text is longer than {limits.MAX_TEMPLATE_OUTPUT_CHARACTERS} characters")


budget: ContextVar[Budget | None] = ContextVar("template_budget", default=None)


def render_template(source: str, values: Mapping[str, JSON], *, escape_html: bool = False) -> str:
    """The template filled with the values; raises BlockFailed for a wrong, endless or exploding template."""
    if len(source) > limits.MAX_TEMPLATE_CHARACTERS:
        raise BlockFailed(f"The template is longer than {limits.MAX_TEMPLATE_CHARACTERS} characters.")
    if "{" not in source:
        return source
    try:
        template = parse(source, escape_html)
        if is_safe(template, source, values):
            return render_safe(source, values, escape_html)
    except WRONG_TEMPLATE as error:
        raise wrong(explain(error)) from None
    except RecursionError:
        raise wrong("it is nested too deeply") from None
    return render_isolated(source, values, escape_html)


def render_safe(source: str, values: Mapping[str, JSON], escape_html: bool) -> str:
    """In this process: every loop step and every piece of text is counted."""
    environment = counting_environment(escape_html)
    compiled = compiled_source(source, escape_html)
    token = budget.set(Budget())
    try:
        return Template.from_code(environment, compiled, dict(environment.globals)).render(values)
    finally:
        budget.reset(token)


def render_isolated(source: str, values: Mapping[str, JSON], escape_html: bool) -> str:
    """In a process of its own, with hard limits on memory and time."""
    job = {
        "source": source,
        "values": values,
        "escape_html": escape_html,
        "max_range": limits.MAX_TEMPLATE_RANGE,
        "max_characters": limits.MAX_TEMPLATE_OUTPUT_CHARACTERS,
    }
    try:
        answer = run_isolated(
            CHILD,
            job,
            seconds=limits.TEMPLATE_SECONDS,
            memory_bytes=limits.TEMPLATE_MEMORY_BYTES,
            file_bytes=0,
        )
    except IsolatedFailed as error:
        raise wrong(str(error)) from None
    if "error" in answer:
        raise wrong(answer["error"])
    return str(answer["text"])


def wrong(reason: str) -> BlockFailed:
    return BlockFailed(f"The template cannot be rendered: {reason.rstrip('.')}.")


class CountingEnvironment(TemplateEnvironment):
    """Counts the steps of loops and the characters of outputs against the budget of the rendering."""

    def __init__(self, *, escape_html: bool) -> None:
        super().__init__(
            escape_html=escape_html, max_range=limits.MAX_TEMPLATE_RANGE, finalize=count_characters
        )

    def count_steps(self, items: Iterable[Any], literal: int) -> Iterator[Any]:
        current = budget.get()
        assert current is not None
        for item in items:
            current.step(literal)
            yield item


def count_characters(value: Any) -> Any:
    text = value if isinstance(value, str) else str(value)
    current = budget.get()
    if current is not None:  # constants are finalised at compile time
        current.write(len(text))
    return text


@cache
def counting_environment(escape_html: bool) -> CountingEnvironment:
    return CountingEnvironment(escape_html=escape_html)


def parse(source: str, escape_html: bool) -> nodes.Template:
    return counting_environment(escape_html).parse(source)


def compiled_source(source: str, escape_html: bool) -> CodeType:
    """The code of a safe template; small ones are kept, because an agent renders the same one often."""
    return (
        _compile_kept(source, escape_html)
        if len(source) <= MAX_SOURCE_CHARACTERS // 4
        else _compile(source, escape_html)
    )


@lru_cache(maxsize=256)
def _compile_kept(source: str, escape_html: bool) -> CodeType:
    return _compile(source, escape_html)


def _compile(source: str, escape_html: bool) -> CodeType:
    environment = counting_environment(escape_html)
    template = environment.parse(source)
    for loop in list(template.find_all(nodes.For)):
        literal = sum(len(data.data) for data in loop.find_all(nodes.TemplateData))
        counter = nodes.EnvironmentAttribute("count_steps")
        loop.iter = nodes.Call(counter, [loop.iter, nodes.Const(literal)], [], None, None)
    template.set_environment(environment)
    return environment.compile(template)
