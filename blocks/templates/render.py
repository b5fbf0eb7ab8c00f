"""Render templates within limits: simple ones in this process, others in a separate one."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from contextvars import ContextVar
from functools import cache, lru_cache
from pathlib import Path
from types import CodeType
from typing import Any

from jinja2 import Template, nodes

from blocks import limits
from blocks.errors import BlockFailed
from blocks.schema import JSON
from blocks.script_process import ScriptStopped, run_script
from blocks.templates.isolated import WRONG_TEMPLATE, TemplateEnvironment, explain
from blocks.templates.safe import MAX_SOURCE_CHARACTERS, is_safe

CHILD = Path(__file__).with_name("isolated.py")


class RenderBudget:
    """The remaining budget of one rendering."""

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


budget: ContextVar[RenderBudget | None] = ContextVar("template_budget", default=None)


def render_template(source: str, values: Mapping[str, JSON], *, escape_html: bool = False) -> str:
    """Render the template; raise BlockFailed if it is invalid or exceeds a limit."""
    if len(source) > limits.MAX_TEMPLATE_CHARACTERS:
        raise BlockFailed(f"The template is longer than {limits.MAX_TEMPLATE_CHARACTERS} characters.")
    if "{" not in source:
        return source
    try:
        template = parse(source, escape_html)
        if is_safe(template, source, values):
            return render_safe(source, values, escape_html)
    except WRONG_TEMPLATE as error:
        raise render_error(explain(error)) from None
    except RecursionError:
        raise render_error("it is nested too deeply") from None
    return render_isolated(source, values, escape_html)


def render_safe(source: str, values: Mapping[str, JSON], escape_html: bool) -> str:
    """Render in this process, counting every loop step and every piece of text."""
    environment = counting_environment(escape_html)
    compiled = compiled_source(source, escape_html)
    token = budget.set(RenderBudget())
    try:
        return Template.from_code(environment, compiled, dict(environment.globals)).render(values)
    finally:
        budget.reset(token)


def render_isolated(source: str, values: Mapping[str, JSON], escape_html: bool) -> str:
    """Render in a separate process with hard limits on memory and time."""
    job = {
        "source": source,
        "values": values,
        "escape_html": escape_html,
        "max_range": limits.MAX_TEMPLATE_RANGE,
        "max_characters": limits.MAX_TEMPLATE_OUTPUT_CHARACTERS,
    }
    try:
        answer = run_script(
            CHILD,
            job,
            seconds=limits.TEMPLATE_SECONDS,
            memory_bytes=limits.TEMPLATE_MEMORY_BYTES,
            file_bytes=0,
        )
    except ScriptStopped as error:
        raise render_error(str(error)) from None
    if "error" in answer:
        raise render_error(answer["error"])
    return str(answer["text"])


def render_error(reason: str) -> BlockFailed:
    return BlockFailed(f"The template cannot be rendered: {reason.rstrip('.')}.")


class CountingEnvironment(TemplateEnvironment):
    """Counts loop steps and output characters against the budget of the rendering."""

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
    """Compile a safe template; small ones are cached, because agents render the same one often."""
    return (
        _compile_cached(source, escape_html)
        if len(source) <= MAX_SOURCE_CHARACTERS // 4
        else _compile(source, escape_html)
    )


@lru_cache(maxsize=256)
def _compile_cached(source: str, escape_html: bool) -> CodeType:
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
