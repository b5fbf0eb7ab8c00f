"""Answer the agent generator with a plan, questions, a better goal, an agent or a patch."""

from __future__ import annotations

import json
import re
from typing import Any

from llm.offline.agent_builder import edits, graphs
from llm.offline.agent_builder.generator_task import GeneratorTask
from llm.offline.agent_builder.graph_sketch import Sketch, SketchPin
from llm.offline.agent_builder.recipes import ASKS_FIRST, COUNTS_WORDS, Recipe, find_recipe
from llm.offline.conversation import OfflineConversation
from llm.offline.reply import Reply, say

OPENING_WORDS = frozenset({"that", "which", "to"})
VAGUE_WORD = re.compile(
    r"help\w*|do(?:es)?|something|anything|stuff|things?|useful|cool|good|work\w*|"
    r"me|my|with|it|an?|the|some|nice|everything"
)
IMPOSSIBLE = re.compile(
    r"\b(coffee|cook\w*|drive\w*|fly|flies|clean\w* my|walk\w*|phone call|lottery|teleport\w*|read\w* minds?)\b",
    re.IGNORECASE,
)
SUGGESTED = "Summarise a web page whose address I give"


def answer(conversation: OfflineConversation) -> Reply | None:
    """Return the answer to a request of the agent generator, or None for any other request."""
    task = GeneratorTask.of(conversation)
    if task is None:
        return None
    made = {"decompose": plan, "draw": build, "change": change}[task.kind](task)
    return say(json.dumps(made, ensure_ascii=False), delay=0)


def plan(task: GeneratorTask) -> dict[str, Any]:
    if is_vague(task.goal):
        reason = "It does not say what the agent takes as input and what it should return."
        return {"type": "vague_goal", "suggested_goal": SUGGESTED, "reason": reason}
    if IMPOSSIBLE.search(task.goal):
        reason = "Agents work with text, data and the web; they cannot act in the physical world."
        return {
            "type": "unachievable_goal",
            "suggested_goal": f"Write instructions: {task.goal}",
            "reason": reason,
        }
    recipe = None if builds_upon(task) else find_recipe(task.goal)
    open_questions = [asked.as_json() for asked in recipe.asks if not asked.answered(task)] if recipe else []
    if open_questions:
        return {"type": "clarifying_questions", "questions": open_questions}
    steps = list(recipe.steps) if recipe else ["Take the topic", "Ask the model"]
    return {
        "type": "instructions",
        "steps": [*steps, *(["Ask a person first"] if asks_first(task, recipe) else [])],
    }


def is_vague(goal: str) -> bool:
    """Return whether the goal consists of filler words only."""
    words = re.findall(r"\w+", goal.lower())
    opened = words[1:] if words and words[0] in OPENING_WORDS else words
    return all(VAGUE_WORD.fullmatch(word) for word in opened)


def build(task: GeneratorTask) -> dict[str, Any]:
    upon = builds_upon(task)
    recipe = None if upon else find_recipe(task.goal)
    sketch = Sketch(blocks=task.blocks)
    (graphs.run_part if upon else recipe.build if recipe else graphs.ask_model)(sketch, task)
    if COUNTS_WORDS.search(task.goal) and (upon or recipe) and not counts_words(recipe):
        add_word_count(sketch)
    if asks_first(task, recipe):
        require_approval(sketch)
    name = f"{task.parts[0]['name']}, and more" if upon else recipe.name if recipe else "Assistant"
    return sketch.as_json(name=name, description=f"{task.goal[:1].upper()}{task.goal[1:]}")


def builds_upon(task: GeneratorTask) -> bool:
    """Return whether the goal refers to a given agent to build upon."""
    return bool(task.parts) and bool(re.search(r"\bagent\b", task.goal, re.IGNORECASE))


def counts_words(recipe: Recipe | None) -> bool:
    return recipe is not None and recipe.build is graphs.count_words


def change(task: GeneratorTask) -> dict[str, Any]:
    """Return a patch, or a question if the change is not recognised."""
    patch = edits.make_patch(task)
    if patch is not None:
        return patch
    known = "; ".join(edit.example for edit in edits.EDITS)
    question = f"The offline model cannot make this change. It can: {known}. Which one would you like?"
    return {"type": "clarifying_questions", "questions": [{"question": question, "keyword": "change"}]}


def asks_first(task: GeneratorTask, recipe: Recipe | None) -> bool:
    return bool(ASKS_FIRST.search(task.goal)) and (recipe is None or recipe.build is not graphs.approval)


def add_word_count(sketch: Sketch) -> None:
    source = next(iter(output_links(sketch)))
    node = sketch.add("Word Character Count", text=pin_of(source))
    sketch.output("word_count", SketchPin(node=node, name="word_count"))


def require_approval(sketch: Sketch) -> None:
    """Require a person's approval before the first output."""
    link = next(iter(output_links(sketch)))
    node = sketch.approval(pin_of(link))
    link |= {"source_id": node, "source_name": "approved_data", "is_static": False}


def output_links(sketch: Sketch) -> list[dict[str, Any]]:
    block = sketch.blocks.get("Agent Output", "Agent Output")
    ends = {node["id"] for node in sketch.nodes if node["block_id"] == block}
    return [link for link in sketch.links if link["sink_id"] in ends]


def pin_of(link: dict[str, Any]) -> SketchPin:
    return SketchPin(node=link["source_id"], name=link["source_name"], static=link["is_static"])
