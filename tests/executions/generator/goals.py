"""Forty goals in people's words, each with the agent a good model would draw, as a chain of blocks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from blocks.registry import get_registry


@dataclass(frozen=True, kw_only=True)
class Goal:
    """`chain`: blocks in order with their values, the pin that is fed and the pin that goes on."""

    words: str
    source: str  # the block of the input
    chain: tuple[tuple[str, str, str, dict[str, Any]], ...]

    def draw(self) -> dict[str, Any]:
        """The right answer."""
        registry = get_registry()
        nodes = [node("in", registry.get_by_name(self.source).id, {"name": "input"})]
        links = []
        last, pin = "in", "result"
        for number, (block, fed, out, values) in enumerate(self.chain):
            name = f"step{number}"
            nodes.append(node(name, registry.get_by_name(block).id, values))
            links.append(link(last, pin, name, fed))
            last, pin = name, out
        nodes.append(node("out", registry.get_by_name("Agent Output").id, {"name": "output"}))
        links.append(link(last, pin, "out", "value"))
        return {"name": self.words[:60], "description": self.words, "nodes": nodes, "links": links}


def node(node_id: str, block_id: str, values: dict[str, Any]) -> dict[str, Any]:
    return {"id": node_id, "block_id": block_id, "input_default": dict(values), "metadata": {}}


def link(source: str, out: str, sink: str, fed: str) -> dict[str, Any]:
    return {
        "id": f"{source}-{sink}",
        "source_id": source,
        "source_name": out,
        "sink_id": sink,
        "sink_name": fed,
        "is_static": source == "in",
    }


Stage = tuple[str, str, str, dict[str, Any]]
TEXT, LONG, ANY = "Agent Short Text Input", "Agent Long Text Input", "Agent Input"
SUMMARY: Stage = ("AI Text Summarizer", "text", "summary", {})
PAGE: Stage = ("Extract Website Content", "url", "content", {})
COUNT: Stage = ("Word Character Count", "text", "word_count", {})


def ask(prompt: str) -> Stage:
    return "AI Text Generator", "prompt_values_#_topic", "response", {"prompt": f"{prompt} {{{{topic}}}}"}


def calculate(operation: str, number: float) -> Stage:
    return "Calculator", "a", "result", {"operation": operation, "b": number}


GOALS: tuple[Goal, ...] = (
    Goal(words="Summarise whatever page I paste the address of", source=TEXT, chain=(PAGE, SUMMARY)),
    Goal(words="How long is this article? Count its words", source=TEXT, chain=(PAGE, COUNT)),
    Goal(words="Give me the gist of a long text", source=LONG, chain=(SUMMARY,)),
    Goal(words="Count the words I write", source=LONG, chain=(COUNT,)),
    Goal(words="Summarise a text and tell me how long the summary is", source=LONG, chain=(SUMMARY, COUNT)),
    Goal(words="Double a number", source=ANY, chain=(calculate("Multiply", 2),)),
    Goal(words="Add VAT of 20 percent to a price", source=ANY, chain=(calculate("Multiply", 1.2),)),
    Goal(words="Take 10 off whatever I enter", source=ANY, chain=(calculate("Subtract", 10),)),
    Goal(words="Square a number", source=ANY, chain=(calculate("Power", 2),)),
    Goal(words="Halve it, then add one", source=ANY, chain=(calculate("Divide", 2), calculate("Add", 1))),
    Goal(
        words="Greet a customer by name",
        source=TEXT,
        chain=(("Fill Text Template", "values_#_name", "output", {"format": "Hello {{name}}"}),),
    ),
    Goal(words="Write a birthday card for somebody", source=TEXT, chain=(ask("Write a birthday card for"),)),
    Goal(words="Answer questions about cooking", source=LONG, chain=(ask("Answer as a cook:"),)),
    Goal(words="Translate into German", source=LONG, chain=(ask("Translate into German:"),)),
    Goal(words="Find three slogans for a product", source=TEXT, chain=(ask("Three slogans for"),)),
    Goal(
        words="Look something up in Wikipedia and shorten it",
        source=TEXT,
        chain=(("Get Wikipedia Summary", "topic", "summary", {}), SUMMARY),
    ),
    Goal(
        words="Search the web for a topic", source=TEXT, chain=(("Search The Web", "query", "results", {}),)
    ),
    Goal(
        words="Search the web and sum up the hits",
        source=TEXT,
        chain=(("Search The Web", "query", "results", {}), SUMMARY),
    ),
    Goal(
        words="Turn a list around",
        source=ANY,
        chain=(("Reverse List Order", "input_list", "reversed_list", {}),),
    ),
    Goal(
        words="How many things are in my list",
        source=ANY,
        chain=(("Count Items", "collection", "count", {}),),
    ),
    Goal(
        words="Take the first entry of a list",
        source=ANY,
        chain=(("Get List Item", "list", "item", {"index": 0}),),
    ),
    Goal(
        words="Remove doubles from a list",
        source=ANY,
        chain=(("Concatenate Lists", "lists_$_0", "concatenated_list", {"deduplicate": True}),),
    ),
    Goal(
        words="Flatten nested lists",
        source=ANY,
        chain=(("Flatten List", "nested_list", "flattened_list", {}),),
    ),
    Goal(
        words="Split a sentence at its spaces",
        source=LONG,
        chain=(("Text Split", "text", "texts", {"delimiter": " "}),),
    ),
    Goal(
        words="Count comma separated values",
        source=LONG,
        chain=(
            ("Text Split", "text", "texts", {"delimiter": ","}),
            ("Count Items", "collection", "count", {}),
        ),
    ),
    Goal(
        words="Replace every 'teh' by 'the'",
        source=LONG,
        chain=(("Text Replace", "text", "output", {"old": "teh", "new": "the"}),),
    ),
    Goal(
        words="Pull the e-mail addresses out of a text",
        source=LONG,
        chain=(
            (
                "Extract Text Information",
                "text",
                "matched_results",
                {"pattern": r"\S+@\S+", "group": 0, "find_all": True},
            ),
        ),
    ),
    Goal(
        words="Read a CSV and give me its rows",
        source=LONG,
        chain=(("Read Spreadsheet", "contents", "rows", {"produce_singular_result": False}),),
    ),
    Goal(
        words="How many rows has this CSV",
        source=LONG,
        chain=(("Read Spreadsheet", "contents", "rows", {}), ("Count Items", "collection", "count", {})),
    ),
    Goal(words="Turn JSON text into data", source=LONG, chain=(("JSON Decoder", "json_str", "data", {}),)),
    Goal(words="Write data as JSON", source=ANY, chain=(("JSON Encoder", "data", "json_str", {}),)),
    Goal(words="Read XML", source=LONG, chain=(("XML Parser", "input_xml", "parsed_xml", {}),)),
    Goal(
        words="Take the name out of a record",
        source=ANY,
        chain=(("Find In Dictionary", "input", "output", {"key": "name"}),),
    ),
    Goal(
        words="Fetch an API and show what it answers",
        source=TEXT,
        chain=(("Send Web Request", "url", "response", {"method": "GET"}),),
    ),
    Goal(
        words="Ask me before a text goes out",
        source=LONG,
        chain=(("Human In The Loop", "data", "approved_data", {"name": "Please approve."}),),
    ),
    Goal(
        words="Summarise a page, and let me approve the summary",
        source=TEXT,
        chain=(PAGE, SUMMARY, ("Human In The Loop", "data", "approved_data", {"name": "Ok?"})),
    ),
    Goal(
        words="Digest of a news feed",
        source=TEXT,
        chain=(
            ("Read RSS Feed", "rss_url", "entries", {"polling_rate": 300, "run_continuously": False}),
            ("JSON Encoder", "data", "json_str", {}),
            SUMMARY,
        ),
    ),
    Goal(
        words="Is this number above 100",
        source=ANY,
        chain=(("Condition", "value1", "result", {"operator": ">", "value2": 100}),),
    ),
    Goal(
        words="Remember what I say for next time",
        source=LONG,
        chain=(("Persist Information", "value", "value", {"key": "note"}),),
    ),
    Goal(
        words="Take the code out of a chat answer",
        source=LONG,
        chain=(("Code Extraction", "text", "python", {}),),
    ),
)
