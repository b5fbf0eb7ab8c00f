"""Changes the offline model can make to an agent, as patches that touch nothing else."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from re import Match, Pattern
from typing import Any, TypeAlias

from llm.offline.architect.drawings import language_in
from llm.offline.architect.sketch import Pin, Sketch
from llm.offline.architect.task import Task

Patch: TypeAlias = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Shown:
    """An output of the agent: its node, its name, and the link that feeds it."""

    node: str
    name: str
    link: Mapping[str, Any]

    @property
    def source(self) -> Pin:
        return Pin(
            node=str(self.link["source_id"]),
            name=str(self.link["source_name"]),
            static=bool(self.link.get("is_static")),
        )


@dataclass(frozen=True, kw_only=True)
class Edit:
    """One kind of change."""

    name: str
    example: str
    pattern: Pattern[str]
    make: Callable[[Task, Match[str]], Patch | None]


def count_words(task: Task, match: Match[str]) -> Patch | None:
    shown = first_output(task)
    if shown is None:
        return None
    sketch = new_sketch(task)
    node = sketch.add("Word Character Count", text=shown.source)
    sketch.output(free_name(task, "word_count"), Pin(node=node, name="word_count"))
    return added(sketch)


def summarise(task: Task, match: Match[str]) -> Patch | None:
    shown = first_output(task)
    if shown is None:
        return None
    sketch = new_sketch(task)
    summary = sketch.step("AI Text Summarizer", "summary", text=shown.source)
    sketch.output(free_name(task, "summary"), summary)
    return added(sketch)


def translate(task: Task, match: Match[str]) -> Patch | None:
    shown, language = first_output(task), language_in(task)
    if shown is None:
        return None
    if not language:
        question = {"question": "Into which language shall it translate?", "keyword": "language"}
        return {"type": "clarifying_questions", "questions": [question]}
    sketch = new_sketch(task)
    prompt = {"prompt": f"Translate into {language}. Answer with the translation alone.\n\n{{{{text}}}}"}
    text = sketch.step("AI Text Generator", "response", prompt, prompt_values_X_text=shown.source)
    sketch.output(free_name(task, "translation"), text)
    return added(sketch)


def ask_first(task: Task, match: Match[str]) -> Patch | None:
    """A person stands between what is made and what is given out."""
    shown = first_output(task)
    if shown is None:
        return None
    sketch = new_sketch(task)
    node = sketch.add("Human In The Loop", {"name": "Please approve this."}, data=shown.source)
    sketch.link(Pin(node=node, name="approved_data"), shown.node, "value")
    return {**added(sketch), "remove_links": [shown.link["id"]]}


def rename(task: Task, match: Match[str]) -> Patch | None:
    name = match.group("name").strip(" .\"'“”")
    return {"type": "patch", "name": name} if name else None


def remove_output(task: Task, match: Match[str]) -> Patch | None:
    wanted = match.group("name").lower().replace(" ", "_")
    found = next((shown for shown in outputs(task) if shown.name.lower() == wanted), None)
    return {"type": "patch", "remove_nodes": [found.node]} if found else None


def rule(pattern: str) -> Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


EDITS: tuple[Edit, ...] = (
    Edit(
        name="Count the words",
        example="also count the words",
        pattern=rule(r"\bcount\w*\b.*\bwords?\b|\bword count\b"),
        make=count_words,
    ),
    Edit(
        name="Ask first",
        example="ask me before it gives out the result",
        pattern=rule(r"\b(ask\w* (me|a person|somebody|someone)|approv\w*|human|confirm\w*)\b"),
        make=ask_first,
    ),
    Edit(
        name="Translate",
        example="also translate it into German",
        pattern=rule(r"\btranslat"),
        make=translate,
    ),
    Edit(name="Summarise", example="also summarise it", pattern=rule(r"\bsummar"), make=summarise),
    Edit(
        name="Rename",
        example="rename it to Morning news",
        pattern=rule(r"\b(?:rename\b.*?\bto|call it)\s+(?P<name>[^.\n]{1,100})$"),
        make=rename,
    ),
    Edit(
        name="Remove an output",
        example="remove the output word_count",
        pattern=rule(r"\b(?:remove|delete|drop)\b.*?\boutput\s+[\"“']?(?P<name>[\w ]{1,60}?)[\"”']?\s*$"),
        make=remove_output,
    ),
)


def make_patch(task: Task) -> Patch | None:
    """The change that is asked for; None when none is recognised, or when it cannot be made."""
    for edit in EDITS:
        match = edit.pattern.search(task.goal)
        if match:
            return edit.make(task, match)
    return None


def first_output(task: Task) -> Shown | None:
    return next(outputs(task), None)


def outputs(task: Task) -> Iterator[Shown]:
    """The outputs of the agent that something is linked to."""
    block = task.blocks.get("Agent Output", "Agent Output")
    links = {
        link["sink_id"]: link for link in task.base.get("links") or () if link.get("sink_name") == "value"
    }
    for node in task.base.get("nodes") or ():
        if node.get("block_id") == block and node["id"] in links:
            name = str((node.get("input_default") or {}).get("name") or "")
            yield Shown(node=node["id"], name=name, link=links[node["id"]])


def free_name(task: Task, wanted: str) -> str:
    taken = {shown.name for shown in outputs(task)}
    return next(name for name in (wanted, *(f"{wanted}_{n}" for n in range(2, 100))) if name not in taken)


def new_sketch(task: Task) -> Sketch:
    """A sketch whose ids are not those of the agent."""
    return Sketch(blocks=task.blocks, prefix=f"new{len(task.base.get('nodes') or ())}_")


def added(sketch: Sketch) -> Patch:
    return {"type": "patch", "add_nodes": sketch.nodes, "add_links": sketch.links}
