"""Results and questions of MCP servers, in the form that the model and people get them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal

from blocks.ports import ReviewQuestion
from connections.models import ServerTool
from connections.outcomes import CallResult, InputWanted, ServerQuestion
from durable import storable
from tools.base import PersonAnswer, ToolResult
from tools.errors import ToolError

MEDIA_TYPE = re.compile(r"[a-z]+/[a-z0-9.+-]{1,100}")
BASE64 = re.compile(r"[A-Za-z0-9+/=\s]*+")
BINARY = "application/octet-stream"
MAX_PARTS = 200


class ConnectedResult(ToolResult):
    """The result of a tool of an MCP server."""

    type: Literal["mcp_result"] = "mcp_result"
    server: str
    content: list[Any]
    structured_content: Any = None


def result_of(row: ServerTool, found: CallResult) -> ConnectedResult:
    """Return the result; raises ToolError with the server's words if the tool failed.

    Pictures, sounds and other bytes are data URIs here, which the output gate puts into the workspace.
    """
    parts = [part_of(part) for part in found.content[:MAX_PARTS]]
    if found.is_error:
        words = (
            " ".join(part for part in parts if isinstance(part, str)) or "The tool failed without a reason."
        )
        raise ToolError(f"{row.name} failed: {words[:4_000]}", code="tool_failed")
    return ConnectedResult(
        message=f"{row.name} of {row.server} has run.",
        server=row.server.name,
        content=storable.nearest_json(parts),
        structured_content=storable.nearest_json(found.structured),
    )


def part_of(part: Mapping[str, Any]) -> Any:
    """Return one part of a result: text as text, bytes as a data URI, anything else as it came."""
    match part.get("type"):
        case "text":
            return str(part.get("text") or "")
        case "image" | "audio":
            return data_uri(part.get("mimeType"), part.get("data"))
        case "resource":
            resource = part.get("resource")
            return resource_of(resource) if isinstance(resource, Mapping) else dict(part)
        case _:
            return {key: value for key, value in part.items() if key not in ("_meta", "icons")}


def resource_of(resource: Mapping[str, Any]) -> Any:
    address = str(resource.get("uri") or "")
    if isinstance(resource.get("blob"), str):
        return {"uri": address, "content": data_uri(resource.get("mimeType"), resource["blob"])}
    return {"uri": address, "text": str(resource.get("text") or "")}


def data_uri(media_type: object, data: object) -> str:
    kind = str(media_type or "").lower()
    if not isinstance(data, str) or not BASE64.fullmatch(data):
        return "(bytes that could not be read)"
    return f"data:{kind if MEDIA_TYPE.fullmatch(kind) else BINARY};base64,{''.join(data.split())}"


# --- questions to a person ------------------------------------------------------------------------


def form_for(row: ServerTool, wanted: InputWanted) -> ReviewQuestion:
    """Return the question that a person sees: what the server wants to know, and a form for the answers."""
    asked = "; ".join(shown(question) for question in wanted.questions.values())
    first = next(iter(wanted.questions.values()))
    only = len(wanted.questions) == 1
    schema = first.schema if only else None
    return ReviewQuestion(
        name=f"{row.server} asks ({row.name}): {asked}",
        data=empty_form(first)
        if only
        else {key: empty_form(question) for key, question in wanted.questions.items()},
        editable=any(question.schema for question in wanted.questions.values()),
        answer_schema=schema or None,
    )


def shown(question: ServerQuestion) -> str:
    return f"{question.message} ({question.url})" if question.url else question.message


def empty_form(question: ServerQuestion) -> dict[str, Any]:
    """Return the form with the defaults that the server suggests."""
    properties = question.schema.get("properties")
    known = properties if isinstance(properties, dict) else {}
    return {name: field.get("default") if isinstance(field, dict) else None for name, field in known.items()}


def answers_from(data: Mapping[str, Any], answer: PersonAnswer | None) -> dict[str, Any]:
    """Return the answers in the words of the protocol: accepted with the form, or declined."""
    questions: Mapping[str, Mapping[str, Any]] = data["questions"]
    if answer is None or not answer.approved:
        return {key: {"action": "decline"} for key in questions}
    filled = answer.data if isinstance(answer.data, dict) else {}
    forms = {next(iter(questions)): filled} if len(questions) == 1 else filled
    return {
        key: {"action": "accept"} if question.get("url") else accepted(forms.get(key))
        for key, question in questions.items()
    }


def accepted(form: object) -> dict[str, Any]:
    fields = form if isinstance(form, dict) else {}
    return {
        "action": "accept",
        "content": {name: value for name, value in fields.items() if value is not None},
    }
