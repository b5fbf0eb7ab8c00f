"""The architect's answers: a plan, questions, a better goal, an agent, or a patch."""

from __future__ import annotations

import json
import re
from typing import Any

from llm.offline.architect import drawings, edits
from llm.offline.architect.recipes import Recipe, find_recipe
from llm.offline.architect.sketch import Pin, Sketch
from llm.offline.architect.task import Task
from llm.offline.conversation import Conversation
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
ASKS_FIRST = re.compile(
    r"\b(ask\w* (me|a person|somebody|someone)|approv\w*|human|sign off|confirm\w*)\b", re.IGNORECASE
)
COUNTS_WORDS = re.compile(r"\bcount\w*\b.*\bwords?\b|\bword count\b", re.IGNORECASE)
SUGGESTED = "Summarise a web page whose address I give"


def answer(conversation: Conversation) -> Reply | None:
    """The answer to a question of the generator; None for any other request."""
    task = Task.of(conversation)
    if task is None:
        return None
    made = {"decompose": plan, "draw": draw, "change": change}[task.kind](task)
    return say(json.dumps(made, ensure_ascii=False), delay=0)


def plan(task: Task) -> dict[str, Any]:
    if is_vague(task.goal):
        reason = "It does not say what goes in and what should come out."
        return {"type": "vague_goal", "suggested_goal": SUGGESTED, "reason": reason}
    if IMPOSSIBLE.search(task.goal):
        reason = "Agents work with texts, data and the web, not with the world of things."
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
    """Whether every word of it could stand in any goal."""
    words = re.findall(r"\w+", goal.lower())
    opened = words[1:] if words and words[0] in OPENING_WORDS else words
    return all(VAGUE_WORD.fullmatch(word) for word in opened)


def draw(task: Task) -> dict[str, Any]:
    upon = builds_upon(task)
    recipe = None if upon else find_recipe(task.goal)
    sketch = Sketch(blocks=task.blocks)
    (drawings.run_part if upon else recipe.draw if recipe else drawings.ask_model)(sketch, task)
    if COUNTS_WORDS.search(task.goal) and (upon or recipe) and not counts_words(recipe):
        add_word_count(sketch)
    if asks_first(task, recipe):
        put_person_before_outputs(sketch)
    name = f"{task.parts[0]['name']}, and more" if upon else recipe.name if recipe else "Assistant"
    return sketch.as_json(name=name, description=f"{task.goal[:1].upper()}{task.goal[1:]}")


def builds_upon(task: Task) -> bool:
    """Whether the goal speaks of an agent that it was given to build upon."""
    return bool(task.parts) and bool(re.search(r"\bagent\b", task.goal, re.IGNORECASE))


def counts_words(recipe: Recipe | None) -> bool:
    return recipe is not None and recipe.draw is drawings.count_words


def change(task: Task) -> dict[str, Any]:
    """A patch; where no change is recognised, an honest question."""
    patch = edits.make_patch(task)
    if patch is not None:
        return patch
    known = "; ".join(edit.example for edit in edits.EDITS)
    question = f"The offline model cannot make this change. It knows: {known}. Which one shall it be?"
    return {"type": "clarifying_questions", "questions": [{"question": question, "keyword": "change"}]}


def asks_first(task: Task, recipe: Recipe | None) -> bool:
    return bool(ASKS_FIRST.search(task.goal)) and (recipe is None or recipe.draw is not drawings.approval)


def add_word_count(sketch: Sketch) -> None:
    source = next(iter(output_links(sketch)))
    node = sketch.add("Word Character Count", text=pin_of(source))
    sketch.output("word_count", Pin(node=node, name="word_count"))


def put_person_before_outputs(sketch: Sketch) -> None:
    """The first output passes a person; what they reject is given out as such."""
    link = next(iter(output_links(sketch)))
    node = sketch.add("Human In The Loop", {"name": "Please approve this."}, data=pin_of(link))
    link |= {"source_id": node, "source_name": "approved_data", "is_static": False}


def output_links(sketch: Sketch) -> list[dict[str, Any]]:
    block = sketch.blocks.get("Agent Output", "Agent Output")
    ends = {node["id"] for node in sketch.nodes if node["block_id"] == block}
    return [link for link in sketch.links if link["sink_id"] in ends]


def pin_of(link: dict[str, Any]) -> Pin:
    return Pin(node=link["source_id"], name=link["source_name"], static=link["is_static"])
