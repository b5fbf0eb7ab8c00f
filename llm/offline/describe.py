"""Describe tool results in sentences."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from llm.offline.conversation import OfflineToolResult

MAX_EXCERPT_CHARACTERS = 600
FAILED_TYPES = {"error", "input_validation_error", "need_login", "no_results"}
NAME_FIELDS = ("name", "prompt", "title", "filename", "path", "question", "description", "id")
SHOWN_FIELDS = {
    "outputs": "Outputs",
    "output": "Output",
    "response": "Answer",
    "stdout": "Output",
    "stderr": "Errors",
    "content": "Content",
    "text": "Text",
    "agents": "Agents",
    "blocks": "Blocks",
    "files": "Files",
    "schedules": "Schedules",
    "followups": "Follow-ups",
    "triggers": "Triggers",
    "stored": "Credentials",
    "presets": "Presets",
    "questions": "Questions",
    "steps": "Steps",
    "results": "Results",
    "errors": "Problems",
    "missing": "Missing",
    "suggestions": "Suggestions",
    "suggested_goal": "A better goal",
    "reviews": "Waiting for your approval",
    "problems": "Problems",
    "inputs": "Inputs",
}
FOR_THE_MODEL = re.compile(r"\bthe user\b|\bcall(ed)? again\b|\byour answer\b|\b[a-z]+_[a-z_]+ runs it\b")
LINK_FIELDS = {
    "agent_page_link": "Open the agent",
    "library_agent_link": "Open the agent",
    "link": "Open it",
    "url": "",
    "download_url": "Download it",
}
STARTED = {
    "create_agent": "I have started building the agent.",
    "edit_agent": "I have started changing the agent.",
    "customize_agent": "I have started customizing the agent.",
}


def describe(result: OfflineToolResult) -> str:
    """Return what happened, then the output, then a link."""
    lines = [_headline(result)]
    inner = result.data.get("execution")
    fields = {**inner, **result.data} if isinstance(inner, Mapping) else result.data
    for name, label in SHOWN_FIELDS.items():
        value = fields.get(name)
        if value not in (None, "", [], {}) and value != result.message:
            lines.append(f"{label}: {show(value)}")
    links = [(words, result.data[name]) for name, words in LINK_FIELDS.items() if result.data.get(name)]
    if links:
        words, link = links[0]
        lines.append(f"[{words}]({link})" if words else f"See {link}")
    return "\n\n".join(lines)


def _headline(result: OfflineToolResult) -> str:
    if not result.data:
        return f"`{result.name}` returned: {excerpt(result.text) or 'nothing.'}"
    if result.type == "operation_started":
        return STARTED.get(result.name, "It has started and runs in the background.")
    message = for_people(result.message) or f"`{result.name}` returned `{result.type or 'no message'}`."
    return f"That did not work: {message}" if result.type in FAILED_TYPES else message


def for_people(message: str) -> str:
    """Return the message without the sentences that instruct the model."""
    sentences = re.split(r"(?<=[.!?]) ", message)
    return " ".join(sentence for sentence in sentences if not FOR_THE_MODEL.search(sentence))


def show(value: Any) -> str:
    """Format a value as Markdown: lists as bullets, mappings as named bullets, the rest as text."""
    if isinstance(value, Mapping):
        return "\n" + "\n".join(f"- **{name}**: {_inline(item)}" for name, item in value.items())
    if isinstance(value, list):
        return "\n" + "\n".join(f"- {_inline(item)}" for item in value)
    return excerpt(str(value))


def _inline(value: Any) -> str:
    if isinstance(value, Mapping):
        name = next((str(value[field]) for field in NAME_FIELDS if value.get(field)), "") or _kind(value)
        return excerpt(name or json.dumps(value, ensure_ascii=False, default=str))
    if isinstance(value, list):
        return ", ".join(_inline(item) for item in value)
    return excerpt(str(value))


def _kind(schema: Mapping[str, Any]) -> str:
    """Return the type of an input, such as `string, required`."""
    kind = schema.get("type")
    return f"{kind}{', required' if schema.get('required') else ''}" if isinstance(kind, str) else ""


def excerpt(text: str) -> str:
    text = text.strip()
    return text if len(text) <= MAX_EXCERPT_CHARACTERS else f"{text[:MAX_EXCERPT_CHARACTERS].rstrip()} …"
