"""Build the graph of each kind of agent."""

from __future__ import annotations

import re

from llm.offline.agent_builder.generator_task import GeneratorTask
from llm.offline.agent_builder.graph_sketch import Sketch, SketchPin

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


def digest(sketch: Sketch, task: GeneratorTask) -> None:
    feed = sketch.input("feed", value=task.address, about="URL of an RSS or Atom feed.")
    settings = {"polling_rate": 300, "time_period": 1440, "run_continuously": False}
    entries = sketch.step("Read RSS Feed", "entries", settings, rss_url=feed)
    text = sketch.step("JSON Encoder", "json_str", data=entries)
    sketch.output(
        "digest", sketch.step("AI Text Summarizer", "summary", {"style": "bullet points"}, text=text)
    )


def page_summary(sketch: Sketch, task: GeneratorTask) -> None:
    text = page(sketch, task)
    sketch.output("summary", sketch.step("AI Text Summarizer", "summary", text=text))


def page_text(sketch: Sketch, task: GeneratorTask) -> None:
    sketch.output("text", page(sketch, task))


def page(sketch: Sketch, task: GeneratorTask) -> SketchPin:
    url = sketch.input("url", value=task.address, about="URL of the page.")
    return sketch.step("Extract Website Content", "content", url=url)


def wikipedia(sketch: Sketch, task: GeneratorTask) -> None:
    topic = sketch.input("topic")
    sketch.output("summary", sketch.step("Get Wikipedia Summary", "summary", topic=topic))


def text_summary(sketch: Sketch, task: GeneratorTask) -> None:
    text = sketch.input("text", "Long Text")
    sketch.output("summary", sketch.step("AI Text Summarizer", "summary", text=text))


def translation(sketch: Sketch, task: GeneratorTask) -> None:
    text = sketch.input("text", "Long Text")
    sketch.output("translation", translate_text(sketch, text, language_in(task)))


def translate_text(sketch: Sketch, text: SketchPin, language: str) -> SketchPin:
    prompt = f"Translate into {language}. Answer with the translation only.\n\n{{{{text}}}}"
    return sketch.step("AI Text Generator", "response", {"prompt": prompt}, prompt_values_X_text=text)


def language_in(task: GeneratorTask) -> str:
    found = LANGUAGE.search(task.full_text) or LANGUAGES.search(task.full_text)
    return found.group(1).capitalize() if found else ""


def replacement(sketch: Sketch, task: GeneratorTask) -> None:
    text = sketch.input("text", "Long Text")
    quoted = QUOTED.findall(task.full_text)
    if len(quoted) >= 2:
        result = sketch.step("Text Replace", "output", {"old": quoted[0], "new": quoted[1]}, text=text)
    else:
        old, new = sketch.input("old"), sketch.input("new")
        result = sketch.step("Text Replace", "output", text=text, old=old, new=new)
    sketch.output("result", result)


def extraction(sketch: Sketch, task: GeneratorTask) -> None:
    text = sketch.input("text", "Long Text")
    pattern = next(regex for words, regex in PATTERNS if re.search(words, task.goal, re.IGNORECASE))
    settings = {"pattern": pattern, "group": 0, "find_all": True}
    node = sketch.add("Extract Text Information", settings, text=text)
    sketch.output("found", SketchPin(node=node, name="matched_results"))
    sketch.output("count", SketchPin(node=node, name="matched_count"))


def table(sketch: Sketch, task: GeneratorTask) -> None:
    contents = sketch.input(
        "csv", "Long Text", about="The table as CSV, with the headings in the first line."
    )
    rows = sketch.step("Read Spreadsheet", "rows", {"produce_singular_result": False}, contents=contents)
    sketch.output("rows", rows)
    sketch.output("row_count", sketch.step("Count Items", "count", collection=rows))


def items(sketch: Sketch) -> SketchPin:
    return sketch.input("items", "", about='A list, such as ["a", "b"].')


def reverse_list(sketch: Sketch, task: GeneratorTask) -> None:
    sketch.output("reversed", sketch.step("Reverse List Order", "reversed_list", input_list=items(sketch)))


def unique_items(sketch: Sketch, task: GeneratorTask) -> None:
    joined = sketch.step(
        "Concatenate Lists", "concatenated_list", {"deduplicate": True}, lists_I_0=items(sketch)
    )
    sketch.output("unique", joined)


def count_items(sketch: Sketch, task: GeneratorTask) -> None:
    sketch.output("count", sketch.step("Count Items", "count", collection=items(sketch)))


def split_text(sketch: Sketch, task: GeneratorTask) -> None:
    text = sketch.input("text", "Long Text")
    sketch.output(
        "items", sketch.step("Text Split", "texts", {"delimiter": delimiter_in(task, ",")}, text=text)
    )


def join_texts(sketch: Sketch, task: GeneratorTask) -> None:
    first, second = sketch.input("first"), sketch.input("second")
    settings = {"delimiter": delimiter_in(task, " ")}
    sketch.output("text", sketch.step("Combine Texts", "output", settings, input_I_0=first, input_I_1=second))


def delimiter_in(task: GeneratorTask, usual: str) -> str:
    quoted = QUOTED.search(task.full_text)
    if quoted:
        return quoted.group(1)
    return next((sign for word, sign in DELIMITERS if word in task.full_text.lower()), usual)


def count_words(sketch: Sketch, task: GeneratorTask) -> None:
    node = sketch.add("Word Character Count", text=sketch.input("text", "Long Text"))
    sketch.output("word_count", SketchPin(node=node, name="word_count"))
    sketch.output("character_count", SketchPin(node=node, name="character_count"))


def calculation(sketch: Sketch, task: GeneratorTask) -> None:
    a, b = sketch.input("a", ""), sketch.input("b", "")
    sketch.output("result", sketch.step("Calculator", "result", {"operation": operation_in(task)}, a=a, b=b))


def operation_in(task: GeneratorTask) -> str:
    text = task.full_text.lower()
    return next((name for name, words in OPERATIONS if re.search(words, text)), "")


def comparison(sketch: Sketch, task: GeneratorTask) -> None:
    a, b = sketch.input("a", ""), sketch.input("b", "")
    smaller = re.search(r"\b(smaller|less)\b", task.goal, re.IGNORECASE)
    settings = {"operator": "<" if smaller else ">"}
    sketch.output("result", sketch.step("Condition", "result", settings, value1=a, value2=b))


def greeting(sketch: Sketch, task: GeneratorTask) -> None:
    fill(sketch, "Hello {{name}}!", "greeting")


def template(sketch: Sketch, task: GeneratorTask) -> None:
    fill(sketch, template_in(task), "text")


def template_in(task: GeneratorTask) -> str:
    quoted = [text for text in QUOTED.findall(task.full_text) if BLANK.search(text)]
    if quoted:
        return str(quoted[0])
    return task.context if BLANK.search(task.context) else ""


def fill(sketch: Sketch, words: str, output: str) -> None:
    names = list(dict.fromkeys(BLANK.findall(words)))
    inputs = {f"values_X_{name}": sketch.input(name) for name in names}
    sketch.output(output, sketch.step("Fill Text Template", "output", {"format": words}, **inputs))


def today(sketch: Sketch, task: GeneratorTask) -> None:
    if re.search(r"\btime\b", task.goal, re.IGNORECASE):
        sketch.output("now", sketch.step("Get Current Date And Time", "date_time", {"trigger": "run"}))
        return
    sketch.output("date", sketch.step("Get Current Date", "date", {"trigger": "run"}))


def web_search(sketch: Sketch, task: GeneratorTask) -> None:
    sketch.output("results", sketch.step("Search The Web", "results", query=sketch.input("query")))


def web_request(sketch: Sketch, task: GeneratorTask) -> None:
    url = sketch.input("url", value=task.address)
    sketch.output("response", sketch.step("Send Web Request", "response", {"method": "GET"}, url=url))


def approval(sketch: Sketch, task: GeneratorTask) -> None:
    text = sketch.input("text", "Long Text")
    node = sketch.approval(text)
    sketch.output("approved", SketchPin(node=node, name="approved_data"))
    sketch.output("rejected", SketchPin(node=node, name="rejected_data"))


def ask_model(sketch: Sketch, task: GeneratorTask) -> None:
    """Ask the model to reach the goal; the topic is the input."""
    topic = sketch.input("topic", "Long Text")
    prompt = {"prompt": f"{task.goal[:1].upper()}{task.goal[1:]}.\n\n{{{{topic}}}}"}
    sketch.output("answer", sketch.step("AI Text Generator", "response", prompt, prompt_values_X_topic=topic))


def run_part(sketch: Sketch, task: GeneratorTask) -> None:
    """Wrap another agent: pass on its inputs and return its outputs."""
    part = task.parts[0]
    settings = {name: part[name] for name in ("graph_id", "graph_version", "input_schema", "output_schema")}
    inputs = {}
    for name, schema in (part["input_schema"].get("properties") or {}).items():
        inputs[name] = sketch.input(name, "", value=schema.get("default"))
    node = sketch.add("Agent Executor", {**settings, "inputs": {}})
    for name, pin in inputs.items():
        sketch.link(pin, node, name)
    for name in part["output_schema"].get("properties") or {}:
        sketch.output(name, SketchPin(node=node, name=name))
