"""The documentation's page on the offline model, written from its rules."""

from __future__ import annotations

from llm.offline.architect.edits import EDITS
from llm.offline.architect.recipes import RECIPES, Recipe
from llm.offline.smalltalk import ABILITIES

HEAD = """\
# The offline model

Without a key a built-in model answers: rules behind the OpenAI protocol (`llm/offline/`), deterministic, and honest
about what it is. It needs no network, so the tour of the README, the tests and CI run with it. `./copilot docs` writes
this page.

## What it recognises in a conversation

{abilities}
- **Agents, further on**: “also count the words”, “run it with text=hello”, “show yesterday's output”, “schedule it
  every day at 9 with text=hello”, “show my schedules”, “I approved it”

Everything else gets an honest answer.

## Agents it can build

It answers the generator's questions (see [agents in chat](agents-in-chat.md)) with agents that run. Say “build an
agent that …” and one of these, in words of your own; “but asks me first” puts a person before the result, and “… and
counts the words” counts them as well. What no line fits becomes an agent that asks the model.

| agent | for example | asks for, when it is missing |
|---|---|---|
{recipes}

A goal that says nothing (“helps me”) or that no block can reach (“makes coffee”) is answered with a better one.

## Changes it can make

They touch nothing but what they name.

| change | for example |
|---|---|
{edits}

## Scripts

With `SCRIPT:` and JSON in a message it says and does exactly what is written there: chunks, timings, tool calls, and
every way a model server can fail. `llm/offline/script.py` describes the fields; most tests of turns are written so.
"""


def offline_model_page() -> str:
    return HEAD.format(
        abilities="\n".join(f"- {words}" for words in ABILITIES.values()),
        recipes="\n".join(recipe_row(recipe) for recipe in RECIPES),
        edits="\n".join(f"| {edit.name} | {edit.example} |" for edit in EDITS),
    )


def recipe_row(recipe: Recipe) -> str:
    asks = ", ".join(asked.keyword for asked in recipe.asks)
    return f"| {recipe.name} | {recipe.example} | {asks} |"
