"""How each kind of agent is drawn."""

from __future__ import annotations

import re

from llm.offline.architect.sketch import Pin, Sketch
from llm.offline.architect.task import Task

QUOTED = re.compile(r"[\"“`]([^\"”`]+)[\"”`]")
BLANK = re.compile(r"\{\{\s*(\w+)\s*\}\}")
LANGUAGE = re.compile(r"\b(?:in)?to\s+([A-Z][a-z]+)\b")
LANGUAGES = re.compile(
    r"\b(english|french|german|spanish|italian|portuguese|dutch|polish|swedish|japanese|chinese|arabic|hindi)\b",
    re.IGNORECASE,
)
OPERATIONS = (
    ("Add", r"\b(add|adds|sums?|plus|addition)\b"),
    ("Subtract", r"\b(subtract\w*|minus|difference)\b"),
    ("Multiply", r"\b(multipl\w*|times|product)\b"),
    ("Divide", r"\bdivi\w*\b"),
    ("Power", r"\bpowers?\b"),
)
PATTERNS = (
    (r"e-?mail", r"[\w.+-]+@[\w-]+\.[\w.-]*\w"),
    (r"hashtag", r"#\w+"),
    (r"link|url", r"https?://[^\s<>\"']+"),
    (r"number", r"-?\d+(?:\.\d+)?"),
)
DELIMITERS = (
    ("comma", ","),
    ("line", "\n"),
    ("semicolon", ";"),
    ("space", " "),
    ("dash", "-"),
    ("tab", "\t"),
)


def digest(sketch: Sketch, task: Task) -> None:
    feed = sketch.input("feed", value=task.address, about="The address of an RSS or Atom feed.")
    settings = {"polling_rate": 300, "time_period": 1440, "run_continuously": False}
    entries = sketch.step("Read RSS Feed", "entries", settings, rss_url=feed)
    text = sketch.step("JSON Encoder", "json_str", data=entries)
    sketch.output(
        "digest", sketch.step("AI Text Summarizer", "summary", {"style": "bullet points"}, text=text)
    )


def page_summary(sketch: Sketch, task: Task) -> None:
    text = page(sketch, task)
    sketch.output("summary", sketch.step("AI Text Summarizer", "summary", text=text))


def page_text(sketch: Sketch, task: Task) -> None:
    sketch.output("text", page(sketch, task))


def page(sketch: Sketch, task: Task) -> Pin:
    url = sketch.input("url", value=task.address, about="The address of the page.")
    return sketch.step("Extract Website Content", "content", url=url)


def wikipedia(sketch: Sketch, task: Task) -> None:
    topic = sketch.input("topic")
    sketch.output("summary", sketch.step("Get Wikipedia Summary", "summary", topic=topic))


def text_summary(sketch: Sketch, task: Task) -> None:
    text = sketch.input("text", "Long Text")
    sketch.output("summary", sketch.step("AI Text Summarizer", "summary", text=text))


def translation(sketch: Sketch, task: Task) -> None:
    text = sketch.input("text", "Long Text")
    prompt = {
        "prompt": f"Translate into {language_in(task)}. Answer with the translation alone.\n\n{{{{text}}}}"
    }
    sketch.output(
        "translation", sketch.step("AI Text Generator", "response", prompt, prompt_values_X_text=text)
    )


def language_in(task: Task) -> str:
    found = LANGUAGE.search(task.said) or LANGUAGES.search(task.said)
    return found.group(1).capitalize() if found else ""


def replacement(sketch: Sketch, task: Task) -> None:
    text = sketch.input("text", "Long Text")
    quoted = QUOTED.findall(task.said)
    if len(quoted) >= 2:
        result = sketch.step("Text Replace", "output", {"old": quoted[0], "new": quoted[1]}, text=text)
    else:
        old, new = sketch.input("old"), sketch.input("new")
        result = sketch.step("Text Replace", "output", text=text, old=old, new=new)
    sketch.output("result", result)


def extraction(sketch: Sketch, task: Task) -> None:
    text = sketch.input("text", "Long Text")
    pattern = next(regex for words, regex in PATTERNS if re.search(words, task.goal, re.IGNORECASE))
    settings = {"pattern": pattern, "group": 0, "find_all": True}
    node = sketch.add("Extract Text Information", settings, text=text)
    sketch.output("found", Pin(node=node, name="matched_results"))
    sketch.output("count", Pin(node=node, name="matched_count"))


def table(sketch: Sketch, task: Task) -> None:
    contents = sketch.input("csv", "Long Text", about="The table as CSV, its first line the headings.")
    rows = sketch.step("Read Spreadsheet", "rows", {"produce_singular_result": False}, contents=contents)
    sketch.output("rows", rows)
    sketch.output("row_count", sketch.step("Count Items", "count", collection=rows))


def items(sketch: Sketch) -> Pin:
    return sketch.input("items", "", about='A list, such as ["a", "b"].')


def reverse_list(sketch: Sketch, task: Task) -> None:
    sketch.output("reversed", sketch.step("Reverse List Order", "reversed_list", input_list=items(sketch)))


def unique_items(sketch: Sketch, task: Task) -> None:
    joined = sketch.step(
        "Concatenate Lists", "concatenated_list", {"deduplicate": True}, lists_I_0=items(sketch)
    )
    sketch.output("unique", joined)


def count_items(sketch: Sketch, task: Task) -> None:
    sketch.output("count", sketch.step("Count Items", "count", collection=items(sketch)))


def split_text(sketch: Sketch, task: Task) -> None:
    text = sketch.input("text", "Long Text")
    sketch.output(
        "items", sketch.step("Text Split", "texts", {"delimiter": delimiter_in(task, ",")}, text=text)
    )


def join_texts(sketch: Sketch, task: Task) -> None:
    first, second = sketch.input("first"), sketch.input("second")
    settings = {"delimiter": delimiter_in(task, " ")}
    sketch.output("text", sketch.step("Combine Texts", "output", settings, input_I_0=first, input_I_1=second))


def delimiter_in(task: Task, usual: str) -> str:
    quoted = QUOTED.search(task.said)
    if quoted:
        return quoted.group(1)
    return next((sign for word, sign in DELIMITERS if word in task.said.lower()), usual)


def count_words(sketch: Sketch, task: Task) -> None:
    node = sketch.add("Word Character Count", text=sketch.input("text", "Long Text"))
    sketch.output("word_count", Pin(node=node, name="word_count"))
    sketch.output("character_count", Pin(node=node, name="character_count"))


def calculation(sketch: Sketch, task: Task) -> None:
    a, b = sketch.input("a", ""), sketch.input("b", "")
    sketch.output("result", sketch.step("Calculator", "result", {"operation": operation_in(task)}, a=a, b=b))


def operation_in(task: Task) -> str:
    said = task.said.lower()
    return next((name for name, words in OPERATIONS if re.search(words, said)), "")


def comparison(sketch: Sketch, task: Task) -> None:
    a, b = sketch.input("a", ""), sketch.input("b", "")
    smaller = re.search(r"\b(smaller|less)\b", task.goal, re.IGNORECASE)
    settings = {"operator": "<" if smaller else ">"}
    sketch.output("result", sketch.step("Condition", "result", settings, value1=a, value2=b))


def greeting(sketch: Sketch, task: Task) -> None:
    fill(sketch, "Hello {{name}}!", "greeting")


def template(sketch: Sketch, task: Task) -> None:
    fill(sketch, template_in(task), "text")


def template_in(task: Task) -> str:
    quoted = [text for text in QUOTED.findall(task.said) if BLANK.search(text)]
    if quoted:
        return str(quoted[0])
    return task.context if BLANK.search(task.context) else ""


def fill(sketch: Sketch, words: str, output: str) -> None:
    names = list(dict.fromkeys(BLANK.findall(words)))
    inputs = {f"values_X_{name}": sketch.input(name) for name in names}
    sketch.output(output, sketch.step("Fill Text Template", "output", {"format": words}, **inputs))


def today(sketch: Sketch, task: Task) -> None:
    if re.search(r"\btime\b", task.goal, re.IGNORECASE):
        sketch.output("now", sketch.step("Get Current Date And Time", "date_time", {"trigger": "run"}))
        return
    sketch.output("date", sketch.step("Get Current Date", "date", {"trigger": "run"}))


def web_search(sketch: Sketch, task: Task) -> None:
    sketch.output("results", sketch.step("Search The Web", "results", query=sketch.input("query")))


def web_request(sketch: Sketch, task: Task) -> None:
    url = sketch.input("url", value=task.address)
    sketch.output("response", sketch.step("Send Web Request", "response", {"method": "GET"}, url=url))


def approval(sketch: Sketch, task: Task) -> None:
    text = sketch.input("text", "Long Text")
    node = sketch.add("Human In The Loop", {"name": "Please approve this."}, data=text)
    sketch.output("approved", Pin(node=node, name="approved_data"))
    sketch.output("rejected", Pin(node=node, name="rejected_data"))


def ask_model(sketch: Sketch, task: Task) -> None:
    """The goal itself is what the model is asked; what varies is the topic."""
    topic = sketch.input("topic", "Long Text")
    prompt = {"prompt": f"{task.goal[:1].upper()}{task.goal[1:]}.\n\n{{{{topic}}}}"}
    sketch.output("answer", sketch.step("AI Text Generator", "response", prompt, prompt_values_X_topic=topic))


def run_part(sketch: Sketch, task: Task) -> None:
    """An agent around another one: its inputs are passed on, its outputs given out."""
    part = task.parts[0]
    settings = {name: part[name] for name in ("graph_id", "graph_version", "input_schema", "output_schema")}
    inputs = {}
    for name, schema in (part["input_schema"].get("properties") or {}).items():
        inputs[name] = sketch.input(name, "", value=schema.get("default"))
    node = sketch.add("Agent Executor", {**settings, "inputs": {}})
    for name, pin in inputs.items():
        sketch.link(pin, node, name)
    for name in part["output_schema"].get("properties") or {}:
        sketch.output(name, Pin(node=node, name=name))
