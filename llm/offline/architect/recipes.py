"""The goals the offline model can build an agent for, each with a sentence that asks for it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from re import Pattern
from typing import Any, TypeAlias

from llm.offline.architect import drawings
from llm.offline.architect.sketch import Sketch
from llm.offline.architect.task import Task

Draw: TypeAlias = Callable[[Sketch, Task], None]


@dataclass(frozen=True, kw_only=True)
class Asked:
    """A question, asked unless what was said answers it."""

    question: str
    keyword: str
    answered: Callable[[Task], object]
    options: Sequence[str] = ()

    def as_json(self) -> dict[str, Any]:
        shown: dict[str, Any] = {"question": self.question, "keyword": self.keyword}
        return {**shown, "options": list(self.options)} if self.options else shown


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """One kind of goal: how it is recognised, what must be known, how it is drawn."""

    name: str
    example: str  # for the documentation and its test
    pattern: Pattern[str]
    draw: Draw
    steps: tuple[str, ...]
    asks: tuple[Asked, ...] = field(default=())


def rule(pattern: str) -> Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


RECIPES: tuple[Recipe, ...] = (
    Recipe(
        name="News digest",
        example="makes a digest of the feed https://example.com/feed.xml every morning",
        pattern=rule(r"\b(digest|newsletter|rss|feeds?)\b"),
        draw=drawings.digest,
        steps=("Read the feed", "Turn its entries into text", "Summarise them"),
        asks=(
            Asked(
                question="Which feed shall it read? Give its web address.",
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
        draw=drawings.page_summary,
        steps=("Take the address", "Fetch the page as text", "Summarise it"),
    ),
    Recipe(
        name="Wikipedia summary",
        example="looks a topic up in Wikipedia",
        pattern=rule(r"\bwikipedia\b"),
        draw=drawings.wikipedia,
        steps=("Take the topic", "Fetch the summary of its article"),
    ),
    Recipe(
        name="Text summary",
        example="summarises a text",
        pattern=rule(r"\bsummar"),
        draw=drawings.text_summary,
        steps=("Take the text", "Summarise it"),
    ),
    Recipe(
        name="Translator",
        example="translates a text into French",
        pattern=rule(r"\btranslat"),
        draw=drawings.translation,
        steps=("Take the text", "Ask the model to translate it"),
        asks=(
            Asked(
                question="Into which language shall it translate?",
                keyword="language",
                answered=drawings.language_in,
                options=("English", "French", "German", "Spanish"),
            ),
        ),
    ),
    Recipe(
        name="Text replacement",
        example='replaces "colour" with "color" in a text',
        pattern=rule(r"\breplac"),
        draw=drawings.replacement,
        steps=("Take the text", "Replace one piece by another"),
    ),
    Recipe(
        name="Extractor",
        example="finds all e-mail addresses in a text",
        pattern=rule(
            r"\b(extract|find|list|collect|get)s?\b.*\b(e-?mails?|e-?mail addresses|numbers?|links|urls|hashtags?)\b"
        ),
        draw=drawings.extraction,
        steps=("Take the text", "Find every match of a pattern"),
    ),
    Recipe(
        name="CSV reader",
        example="reads a CSV table and counts its rows",
        pattern=rule(r"\b(csv|spreadsheet|table|rows)\b"),
        draw=drawings.table,
        steps=("Take the table", "Read its rows", "Count them"),
    ),
    Recipe(
        name="List reverser",
        example="reverses a list",
        pattern=rule(r"\brevers\w*\b.*\b(list|items?|entries|order)\b|\blist\b.*\brevers"),
        draw=drawings.reverse_list,
        steps=("Take the list", "Turn it round"),
    ),
    Recipe(
        name="Unique items",
        example="removes duplicates from a list",
        pattern=rule(r"\b(duplicates?|unique|dedup\w*|distinct)\b"),
        draw=drawings.unique_items,
        steps=("Take the list", "Leave out what is there twice"),
    ),
    Recipe(
        name="Item counter",
        example="counts the items of a list",
        pattern=rule(r"\b(count|how many)\w*\b.*\b(items?|entries|elements?|list)\b"),
        draw=drawings.count_items,
        steps=("Take the list", "Count its items"),
    ),
    Recipe(
        name="Text splitter",
        example="splits a text into a list at commas",
        pattern=rule(r"\bsplit"),
        draw=drawings.split_text,
        steps=("Take the text", "Split it at a delimiter"),
    ),
    Recipe(
        name="Text joiner",
        example="joins two texts with a dash",
        pattern=rule(r"\b(join|combine|concatenat|merge)\w*\b.*\btexts?\b"),
        draw=drawings.join_texts,
        steps=("Take two texts", "Join them"),
    ),
    Recipe(
        name="Word counter",
        example="counts the words of a text",
        pattern=rule(r"\b(count|how many)\w*\b.*\b(words?|characters?|letters?)\b|\bword count\b"),
        draw=drawings.count_words,
        steps=("Take the text", "Count its words and characters"),
    ),
    Recipe(
        name="Calculator",
        example="multiplies two numbers",
        pattern=rule(
            r"\b(add|adds|sums?|plus|subtract\w*|minus|multipl\w*|times|divid\w*|power|comput\w*|calculat\w*)\b"
        ),
        draw=drawings.calculation,
        steps=("Take two numbers", "Calculate"),
        asks=(
            Asked(
                question="Which calculation shall it do with the two numbers?",
                keyword="operation",
                answered=drawings.operation_in,
                options=("Add", "Subtract", "Multiply", "Divide", "Power"),
            ),
        ),
    ),
    Recipe(
        name="Comparison",
        example="tells whether one number is larger than another",
        pattern=rule(r"\b(larger|greater|bigger|compar\w*|smaller|less than)\b"),
        draw=drawings.comparison,
        steps=("Take two values", "Compare them"),
    ),
    Recipe(
        name="Greeter",
        example="greets people by name",
        pattern=rule(r"\b(greet\w*|hello|welcom\w*)\b"),
        draw=drawings.greeting,
        steps=("Take the name", "Fill it into a greeting"),
    ),
    Recipe(
        name="Text template",
        example='fills the template "Dear {{name}}, your order {{number}} is on its way."',
        pattern=rule(r"\b(template|letter|fill\w*|invoice text|mail merge)\b|\{\{\s*\w+\s*\}\}"),
        draw=drawings.template,
        steps=("Take a value for each blank", "Fill them in"),
        asks=(
            Asked(
                question="What shall the text say? Write {{name}} where a value goes.",
                keyword="template",
                answered=drawings.template_in,
            ),
        ),
    ),
    Recipe(
        name="Today",
        example="tells today's date",
        pattern=rule(r"\b(today'?s date|current (date|time)|what (day|time)|the date)\b"),
        draw=drawings.today,
        steps=("Ask the clock",),
    ),
    Recipe(
        name="Web search",
        example="searches the web for a question",
        pattern=rule(r"\bsearch\w*\b.*\b(web|internet|online)\b|\bgoogl"),
        draw=drawings.web_search,
        steps=("Take the question", "Search the web"),
    ),
    Recipe(
        name="Web request",
        example="fetches JSON from a web API",
        pattern=rule(r"\b(fetch|request|call|get|query)\w*\b.*\b(api|json|endpoint|url)\b"),
        draw=drawings.web_request,
        steps=("Take the address", "Fetch it"),
    ),
    Recipe(
        name="Page reader",
        example="fetches a web page as text",
        pattern=rule(r"\b(fetch|read|download|scrap)\w*\b.*\b(pages?|websites?|sites?|articles?)\b"),
        draw=drawings.page_text,
        steps=("Take the address", "Fetch the page as text"),
    ),
    Recipe(
        name="Approval",
        example="asks me to approve a text before it passes it on",
        pattern=rule(
            r"\b(approv\w*|ask\w* (me|a person|someone|somebody)|human|sign off|confirm\w*|review\w*)\b"
        ),
        draw=drawings.approval,
        steps=("Take the text", "Ask a person", "Pass on what they approved"),
    ),
    Recipe(
        name="Writer",
        example="writes a haiku about a topic",
        pattern=rule(
            r"\b(writes?|draft\w*|compose\w*|answer\w*|explain\w*|haiku|poem|story|ask\w* the model|classif\w*)\b"
        ),
        draw=drawings.ask_model,
        steps=("Take the topic", "Ask the model"),
    ),
)


EXTRAS = rule(
    r"[,;]?\s*\b(?:and|but|then|also)\b\s+(?:\w+\s+){0,2}?"
    r"(?:count\w*\b[^,.;]*\bwords?\b[^,.;]*|ask\w* (?:me|a person|somebody|someone)\b[^,.;]*)"
)  # what is added to whatever else an agent does


def find_recipe(goal: str) -> Recipe | None:
    """The first kind of goal that is recognised; by what the agent does first, then by what it does as well."""
    for words in (EXTRAS.sub("", goal), goal):
        found = next((recipe for recipe in RECIPES if recipe.pattern.search(words)), None)
        if found is not None:
            return found
    return None
