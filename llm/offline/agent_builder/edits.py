"""Changes that the offline model can make to an agent, as minimal patches."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from re import Match, Pattern
from typing import Any, TypeAlias

from llm.offline.agent_builder.generator_task import GeneratorTask
from llm.offline.agent_builder.graph_sketch import Sketch, SketchPin
from llm.offline.agent_builder.graphs import language_in, translate_text
from llm.offline.agent_builder.recipes import ASKS_FIRST, COUNTS_WORDS, rule

Patch: TypeAlias = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class SketchedOutput:
    """An output of the agent: its node, its name and the link into it."""

    node: str
    name: str
    link: Mapping[str, Any]

    @property
    def source(self) -> SketchPin:
        return SketchPin(
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
    make: Callable[[GeneratorTask, Match[str]], Patch | None]


def count_words(task: GeneratorTask, match: Match[str]) -> Patch | None:
    shown = first_output(task)
    if shown is None:
        return None
    sketch = new_sketch(task)
    node = sketch.add("Word Character Count", text=shown.source)
    sketch.output(free_name(task, "word_count"), SketchPin(node=node, name="word_count"))
    return added(sketch)


def summarise(task: GeneratorTask, match: Match[str]) -> Patch | None:
    shown = first_output(task)
    if shown is None:
        return None
    sketch = new_sketch(task)
    summary = sketch.step("AI Text Summarizer", "summary", text=shown.source)
    sketch.output(free_name(task, "summary"), summary)
    return added(sketch)


def translate(task: GeneratorTask, match: Match[str]) -> Patch | None:
    shown, language = first_output(task), language_in(task)
    if shown is None:
        return None
    if not language:
        question = {"question": "Into which language should it translate?", "keyword": "language"}
        return {"type": "clarifying_questions", "questions": [question]}
    sketch = new_sketch(task)
    sketch.output(free_name(task, "translation"), translate_text(sketch, shown.source, language))
    return added(sketch)


def ask_first(task: GeneratorTask, match: Match[str]) -> Patch | None:
    """Require a person's approval before the first output."""
    shown = first_output(task)
    if shown is None:
        return None
    sketch = new_sketch(task)
    node = sketch.approval(shown.source)
    sketch.link(SketchPin(node=node, name="approved_data"), shown.node, "value")
    return {**added(sketch), "remove_links": [shown.link["id"]]}


def rename(task: GeneratorTask, match: Match[str]) -> Patch | None:
    name = match.group("name").strip(" .\"'“”")
    return {"type": "patch", "name": name} if name else None


def remove_output(task: GeneratorTask, match: Match[str]) -> Patch | None:
    wanted = match.group("name").lower().replace(" ", "_")
    found = next((shown for shown in outputs(task) if shown.name.lower() == wanted), None)
    return {"type": "patch", "remove_nodes": [found.node]} if found else None


EDITS: tuple[Edit, ...] = (
    Edit(
        name="Count the words",
        example="also count the words",
        pattern=COUNTS_WORDS,
        make=count_words,
    ),
    Edit(
        name="Ask first",
        example="ask me before it returns the result",
        pattern=ASKS_FIRST,
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


def make_patch(task: GeneratorTask) -> Patch | None:
    """Return the requested change, or None if it is not recognised or cannot be made."""
    for edit in EDITS:
        match = edit.pattern.search(task.goal)
        if match:
            return edit.make(task, match)
    return None


def first_output(task: GeneratorTask) -> SketchedOutput | None:
    return next(outputs(task), None)


def outputs(task: GeneratorTask) -> Iterator[SketchedOutput]:
    """Yield the linked outputs of the agent."""
    block = task.blocks.get("Agent Output", "Agent Output")
    links = {
        link["sink_id"]: link for link in task.base.get("links") or () if link.get("sink_name") == "value"
    }
    for node in task.base.get("nodes") or ():
        if node.get("block_id") == block and node["id"] in links:
            name = str((node.get("input_default") or {}).get("name") or "")
            yield SketchedOutput(node=node["id"], name=name, link=links[node["id"]])


def free_name(task: GeneratorTask, wanted: str) -> str:
    taken = {shown.name for shown in outputs(task)}
    return next(name for name in (wanted, *(f"{wanted}_{n}" for n in range(2, 100))) if name not in taken)


def new_sketch(task: GeneratorTask) -> Sketch:
    """Return a sketch whose ids differ from those of the agent."""
    return Sketch(blocks=task.blocks, prefix=f"new{len(task.base.get('nodes') or ())}_")


def added(sketch: Sketch) -> Patch:
    return {"type": "patch", "add_nodes": sketch.nodes, "add_links": sketch.links}
