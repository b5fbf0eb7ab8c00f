"""Generate the documentation page on the offline model from its rules."""

from __future__ import annotations

from llm.offline.agent_builder.edits import EDITS
from llm.offline.agent_builder.recipes import RECIPES, Recipe
from llm.offline.smalltalk import ABILITIES

HEAD = """\
# The offline model

Without an API key a built-in demo model answers. It is not a language model but a set of rules behind the OpenAI
protocol (`llm/offline/`): deterministic, and open about what it is. It needs no network, so the README tour, the tests
and CI run with it. `./copilot docs` writes this page.

## What it recognises in a conversation

{abilities}
- **More with agents**: “also count the words”, “run it with text=hello”, “show yesterday's output”, “schedule it
  every day at 9 with text=hello”, “show my schedules”, “I approved it”

To anything else it replies that it has no rule for it.

## Agents it can build

It answers the agent generator (see [agents in chat](../explanation/agents-in-chat.md)) with agents that run. Say
“build an agent that …” followed by one of these, in your own words. Add “but asks me first” to require approval, or
“and counts the words” to count them too. Any other goal becomes an agent that asks the model.

| agent | example | asks for, if missing |
|---|---|---|
{recipes}

For a vague goal (“helps me”) or an impossible one (“makes coffee”) it suggests a better one.

## Changes it can make

Each change leaves the rest of the agent as it is.

| change | example |
|---|---|
{edits}

## Scripts

A message with `SCRIPT:` and JSON makes it answer exactly as written: chunks, timings, tool calls, and every way a model
server can fail. `llm/offline/script.py` describes the fields; most tests of turns use scripts.
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
