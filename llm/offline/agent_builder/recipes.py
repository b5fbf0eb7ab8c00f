"""Recipes: the goals for which the offline model can build an agent, each with an example."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from re import Pattern
from typing import Any, TypeAlias

from llm.offline.agent_builder import graphs
from llm.offline.agent_builder.generator_task import GeneratorTask
from llm.offline.agent_builder.graph_sketch import Sketch

Build: TypeAlias = Callable[[Sketch, GeneratorTask], None]


@dataclass(frozen=True, kw_only=True)
class Asked:
    """A question, asked unless the request already answers it."""

    question: str
    keyword: str
    answered: Callable[[GeneratorTask], object]
    options: Sequence[str] = ()

    def as_json(self) -> dict[str, Any]:
        shown: dict[str, Any] = {"question": self.question, "keyword": self.keyword}
        return {**shown, "options": list(self.options)} if self.options else shown


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """One kind of goal: how to recognise it, what to ask, and how to build the agent."""

    name: str
    example: str  # for the documentation and its test
    pattern: Pattern[str]
    build: Build
    steps: tuple[str, ...]
    asks: tuple[Asked, ...] = field(default=())


def rule(pattern: str) -> Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


ASKS_FIRST = rule(r"\b(ask\w* (me|a person|somebody|someone)|approv\w*|human|sign off|confirm\w*)\b")
COUNTS_WORDS = rule(r"\bcount\w*\b.*\bwords?\b|\bword count\b")
RECIPES: tuple[Recipe, ...] = (
    Recipe(
        name="News digest",
        example="makes a digest of the feed https://example.com/feed.xml every morning",
        pattern=rule(r"\b(digest|newsletter|rss|feeds?)\b"),
        build=graphs.digest,
        steps=("Read the feed", "Turn its entries into text", "Summarise them"),
        asks=(
            Asked(
                question="Which feed should it read? Give its URL.",
                keyword="feed",
                answered=lambda task: task.address,
            ),
        ),
    ),
    Recipe(
        name="Page summary",
        example="summarises a web page",
        pattern=rule(
            r"\bsummar.*\b(pages?|websites?|sites?|articles?|urls?|links?)\b|\b(page|website|url|link)s?\b.*\bsummar"
        ),
        build=graphs.page_summary,
        steps=("Take the address", "Fetch the page as text", "Summarise it"),
    ),
    Recipe(
        name="Wikipedia summary",
        example="looks a topic up in Wikipedia",
        pattern=rule(r"\bwikipedia\b"),
        build=graphs.wikipedia,
        steps=("Take the topic", "Fetch the summary of its article"),
    ),
    Recipe(
        name="Text summary",
        example="summarises a text",
        pattern=rule(r"\bsummar"),
        build=graphs.text_summary,
        steps=("Take the text", "Summarise it"),
    ),
    Recipe(
        name="Translator",
        example="translates a text into French",
        pattern=rule(r"\btranslat"),
        build=graphs.translation,
        steps=("Take the text", "Ask the model to translate it"),
        asks=(
            Asked(
                question="Into which language should it translate?",
                keyword="language",
                answered=graphs.language_in,
                options=("English", "French", "German", "Spanish"),
            ),
        ),
    ),
    Recipe(
        name="Text replacement",
        example='replaces "colour" with "color" in a text',
        pattern=rule(r"\breplac"),
        build=graphs.replacement,
        steps=("Take the text", "Replace one phrase with another"),
    ),
    Recipe(
        name="Extractor",
        example="finds all e-mail addresses in a text",
        pattern=rule(
            r"\b(extract|find|list|collect|get)s?\b.*\b(e-?mails?|e-?mail addresses|numbers?|links|urls|hashtags?)\b"
        ),
        build=graphs.extraction,
        steps=("Take the text", "Find every match of a pattern"),
    ),
    Recipe(
        name="CSV reader",
        example="reads a CSV table and counts its rows",
        pattern=rule(r"\b(csv|spreadsheet|table|rows)\b"),
        build=graphs.table,
        steps=("Take the table", "Read its rows", "Count them"),
    ),
    Recipe(
        name="List reverser",
        example="reverses a list",
        pattern=rule(r"\brevers\w*\b.*\b(list|items?|entries|order)\b|\blist\b.*\brevers"),
        build=graphs.reverse_list,
        steps=("Take the list", "Reverse it"),
    ),
    Recipe(
        name="Unique items",
        example="removes duplicates from a list",
        pattern=rule(r"\b(duplicates?|unique|dedup\w*|distinct)\b"),
        build=graphs.unique_items,
        steps=("Take the list", "Remove duplicates"),
    ),
    Recipe(
        name="Item counter",
        example="counts the items of a list",
        pattern=rule(r"\b(count|how many)\w*\b.*\b(items?|entries|elements?|list)\b"),
        build=graphs.count_items,
        steps=("Take the list", "Count its items"),
    ),
    Recipe(
        name="Text splitter",
        example="splits a text into a list at commas",
        pattern=rule(r"\bsplit"),
        build=graphs.split_text,
        steps=("Take the text", "Split it at a delimiter"),
    ),
    Recipe(
        name="Text joiner",
        example="joins two texts with a dash",
        pattern=rule(r"\b(join|combine|concatenat|merge)\w*\b.*\btexts?\b"),
        build=graphs.join_texts,
        steps=("Take two texts", "Join them"),
    ),
    Recipe(
        name="Word counter",
        example="counts the words of a text",
        pattern=rule(r"\b(count|how many)\w*\b.*\b(words?|characters?|letters?)\b|\bword count\b"),
        build=graphs.count_words,
        steps=("Take the text", "Count its words and characters"),
    ),
    Recipe(
        name="Calculator",
        example="multiplies two numbers",
        pattern=rule(
            r"\b(add|adds|sums?|plus|subtract\w*|minus|multipl\w*|times|divid\w*|power|comput\w*|calculat\w*)\b"
        ),
        build=graphs.calculation,
        steps=("Take two numbers", "Calculate"),
        asks=(
            Asked(
                question="Which calculation should it do with the two numbers?",
                keyword="operation",
                answered=graphs.operation_in,
                options=("Add", "Subtract", "Multiply", "Divide", "Power"),
            ),
        ),
    ),
    Recipe(
        name="Comparison",
        example="tells whether one number is larger than another",
        pattern=rule(r"\b(larger|greater|bigger|compar\w*|smaller|less than)\b"),
        build=graphs.comparison,
        steps=("Take two values", "Compare them"),
    ),
    Recipe(
        name="Greeter",
        example="greets people by name",
        pattern=rule(r"\b(greet\w*|hello|welcom\w*)\b"),
        build=graphs.greeting,
        steps=("Take the name", "Fill it into a greeting"),
    ),
    Recipe(
        name="Text template",
        example='fills the template "Dear {{name}}, your order {{number}} is on its way."',
        pattern=rule(r"\b(template|letter|fill\w*|invoice text|mail merge)\b|\{\{\s*\w+\s*\}\}"),
        build=graphs.template,
        steps=("Take a value for each blank", "Fill them in"),
        asks=(
            Asked(
                question="What should the text say? Write {{name}} where a value goes.",
                keyword="template",
                answered=graphs.template_in,
            ),
        ),
    ),
    Recipe(
        name="Today",
        example="tells today's date",
        pattern=rule(r"\b(today'?s date|current (date|time)|what (day|time)|the date)\b"),
        build=graphs.today,
        steps=("Read the clock",),
    ),
    Recipe(
        name="Web search",
        example="searches the web for a question",
        pattern=rule(r"\bsearch\w*\b.*\b(web|internet|online)\b|\bgoogl"),
        build=graphs.web_search,
        steps=("Take the question", "Search the web"),
    ),
    Recipe(
        name="Web request",
        example="fetches JSON from a web API",
        pattern=rule(r"\b(fetch|request|call|get|query)\w*\b.*\b(api|json|endpoint|url)\b"),
        build=graphs.web_request,
        steps=("Take the address", "Fetch it"),
    ),
    Recipe(
        name="Page reader",
        example="fetches a web page as text",
        pattern=rule(r"\b(fetch|read|download|scrap)\w*\b.*\b(pages?|websites?|sites?|articles?)\b"),
        build=graphs.page_text,
        steps=("Take the address", "Fetch the page as text"),
    ),
    Recipe(
        name="Approval",
        example="asks me to approve a text before it passes it on",
        pattern=rule(
            r"\b(approv\w*|ask\w* (me|a person|someone|somebody)|human|sign off|confirm\w*|review\w*)\b"
        ),
        build=graphs.approval,
        steps=("Take the text", "Ask a person", "Pass on what they approved"),
    ),
    Recipe(
        name="Writer",
        example="writes a haiku about a topic",
        pattern=rule(
            r"\b(writes?|draft\w*|compose\w*|answer\w*|explain\w*|haiku|poem|story|ask\w* the model|classif\w*)\b"
        ),
        build=graphs.ask_model,
        steps=("Take the topic", "Ask the model"),
    ),
)


EXTRAS = rule(
    r"[,;]?\s*\b(?:and|but|then|also)\b\s+(?:\w+\s+){0,2}?"
    r"(?:count\w*\b[^,.;]*\bwords?\b[^,.;]*|ask\w* (?:me|a person|somebody|someone)\b[^,.;]*)"
)  # additions to any other goal


def find_recipe(goal: str) -> Recipe | None:
    """Return the first recipe that matches the goal, first without additions such as counting words."""
    for words in (EXTRAS.sub("", goal), goal):
        found = next((recipe for recipe in RECIPES if recipe.pattern.search(words)), None)
        if found is not None:
            return found
    return None
