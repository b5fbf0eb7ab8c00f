"""/api/sessions/{id}/export: a whole conversation as a file, JSON or Markdown."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Iterator
from datetime import date
from itertools import chain
from typing import Any

from django.core.handlers.asgi import ASGIRequest
from django.db.models import Q
from django.http import StreamingHttpResponse
from django.utils.http import content_disposition_header
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request

from chat import limits
from chat.api.messages import UIMessage, ui_messages
from chat.api.sessions import shape
from chat.api.view import ChatView
from chat.models import Message, Session
from chat.sessions import Owner
from chat.threads import in_thread

FORMS = {"json": ("json", "application/json"), "markdown": ("md", "text/markdown; charset=utf-8")}
AS = OpenApiParameter("as", str, enum=list(FORMS), default="json", description="The file format.")
WRITTEN = {(200, "application/json"): OpenApiTypes.OBJECT, (200, "text/markdown"): OpenApiTypes.STR}

YOU, ANSWER = "You", "Answer"  # headings in Markdown
MARKS = " \t>*+-0123456789.)"  # of quotes and lists
BEFORE = r"^[ \t>*+\-0-9.)]*"
BLANK = re.compile(r"(\n[ \t]*\n)")
PICTURE = re.compile(r"!+(?=\[)")
DEFINITION = re.compile(BEFORE + r"(?=\[)", re.MULTILINE)
ELEMENT_LINE = re.compile(r"(" + BEFORE + r")<(?=[A-Za-z/!?])(?!https?://|mailto:)", re.MULTILINE)
ELEMENT = re.compile(r"<(?=(?:style|script)\b|[A-Za-z][A-Za-z0-9-]*\s[\sA-Za-z_:])", re.IGNORECASE)
SHORTEST_FENCE = 3


class ExportSession(ChatView):
    """A conversation as a file."""

    @extend_schema(summary="Export a session", parameters=[AS], responses=WRITTEN)
    def get(self, request: Request, key: str) -> StreamingHttpResponse:
        """Download every message of the conversation, oldest first."""
        session, form = self.session(key), request.query_params.get("as", "json")
        if form not in FORMS:
            raise ValidationError({"as": [f"Must be one of {', '.join(FORMS)}."]})
        ending, media_type = FORMS[form]
        pieces = as_json(session, shape(session)) if form == "json" else as_markdown(session)
        response = StreamingHttpResponse(stream(request, pieces), content_type=media_type)
        response["Content-Disposition"] = content_disposition_header(True, f"{file_name(session)}.{ending}")
        return response


def stream(request: Request, pieces: Iterator[str]) -> Iterator[str] | AsyncIterator[str]:
    """Produce each piece in a thread under ASGI, so that a long export does not block other requests."""
    return in_threads(pieces) if isinstance(request._request, ASGIRequest) else pieces


async def in_threads(pieces: Iterator[str]) -> AsyncIterator[str]:
    while (piece := await in_thread(next, pieces, None)) is not None:
        yield piece


def file_name(session: Session) -> str:
    words = re.sub(r"[^\w -]+", "", session.title).strip().replace(" ", "-")[:60]
    return f"{words or 'conversation'}-{date.today().isoformat()}"


def as_json(session: Session, about: dict[str, Any]) -> Iterator[str]:
    """Yield `{"session": …, "messages": […], "other_versions": […]}`, the messages as the API shows them."""
    yield f'{{"session": {json.dumps(about, ensure_ascii=False, default=str)}, "messages": ['
    yield from as_items(all_messages(session, Message.is_in_history()))
    yield '\n], "other_versions": ['
    yield from as_items(all_messages(session, Message.is_in_other_branch()))
    yield "\n]}\n"


def as_items(messages: Iterator[UIMessage]) -> Iterator[str]:
    for number, message in enumerate(messages):
        yield ("," if number else "") + "\n" + json.dumps(message, ensure_ascii=False, default=str)


def as_markdown(session: Session) -> Iterator[str]:
    """Yield the conversation as Markdown that loads nothing from other sites when it is shown."""
    passive = PassiveMarkdown()
    yield f"# {passive.add(one_line(session.title)) or 'Conversation'}\n"
    for message in all_messages(session, Message.is_in_history()):
        yield from message_lines(message, passive)
    others = all_messages(session, Message.is_in_other_branch())
    if first := next(others, None):
        yield "\n# Other versions\n"
        for message in chain([first], others):
            yield from message_lines(message, passive)


def message_lines(message: UIMessage, passive: PassiveMarkdown) -> Iterator[str]:
    who = YOU if message["role"] == Message.Role.USER else ANSWER
    written_at = message["metadata"]["created_at"][:16].replace("T", " ")
    yield f"\n## {who}, {written_at} UTC{place_among(message)}\n"
    for part in message["parts"]:
        if text := part_text(part):
            yield f"\n{passive.add(text)}\n"


def place_among(message: UIMessage) -> str:
    """Return which of its versions a message is, such as `, 2 / 3`."""
    ids = [version["message_id"] for version in message.get("versions", ())]
    return f", {ids.index(message['id']) + 1} / {len(ids)}" if message["id"] in ids else ""


def all_messages(session: Session, wanted: Q) -> Iterator[UIMessage]:
    """Return messages, oldest first, read in pages to keep little of them in memory."""
    return chain.from_iterable(pages(session, wanted))


def pages(session: Session, wanted: Q) -> Iterator[list[UIMessage]]:
    owner = Owner(user=session.user)
    rows = session.messages.filter(wanted).select_related("turn")
    after = -1
    while page := list(rows.filter(seq__gt=after).order_by("seq")[: limits.MAX_PAGE_SIZE]):
        yield ui_messages(page, owner)
        after = page[-1].seq or 0


def part_text(part: dict[str, Any]) -> str:
    match part["type"]:
        case "text":
            return str(part["text"]).strip()
        case "file":
            return f"[{one_line(part['filename'])}]({part['url']})"
        case "data-steer":
            return "\n".join(f"> {line}" for line in part["data"]["text"].splitlines())
        case kind if kind.startswith("tool-"):
            return f"*{kind.removeprefix('tool-')}: {one_line(outcome(part))}*"
        case _:
            return ""


def outcome(part: dict[str, Any]) -> str:
    output = part.get("output")
    message = output.get("message") if isinstance(output, dict) else None
    return str(part.get("errorText") or message or part["state"])


def one_line(text: str) -> str:
    return " ".join(text.split())


class PassiveMarkdown:
    """Converts the pieces of one document in order: whether a piece is code depends on those before it."""

    def __init__(self) -> None:
        self._fence = ""  # that opened the current block of code
        self._certain = True  # no fence so far that another Markdown parser might read differently

    def add(self, text: str) -> str:
        """Return the next piece converted; close a block of code that it leaves open."""
        lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        pieces = [
            "\n".join(piece) if is_code else disarm("\n".join(piece)) for is_code, piece in self._parts(lines)
        ]
        if self._fence:
            pieces.append(self._fence)
            self._fence = ""
        return "\n".join(pieces)

    def _parts(self, lines: list[str]) -> Iterator[tuple[bool, list[str]]]:
        """Yield groups of lines, and whether they are code."""
        part: list[str] = []
        was_code = False
        for line in lines:
            is_code = self._is_code(line)
            if part and is_code != was_code:
                yield was_code, part
                part = []
            part.append(line)
            was_code = is_code
        yield was_code, part

    def _is_code(self, line: str) -> bool:
        """Follow the fences; return whether the line is code or a fence."""
        sign, rest = fence_in(line)
        if self._fence:
            is_end = sign.startswith(self._fence) and not rest.strip()
            if is_end and line.startswith(sign):
                self._fence = ""
            elif is_end:
                self._certain = False
            return self._certain
        if sign and not line.startswith(sign):
            self._certain = False
        elif sign and (sign[0] == "~" or "`" not in rest):
            self._fence = sign if self._certain else ""
        return bool(self._fence)


def fence_in(line: str) -> tuple[str, str]:
    """Return a line's fence, also inside quotes and lists, and what follows it; an empty string if it has none."""
    bare = line.lstrip(MARKS)
    rest = bare.lstrip(bare[:1]) if bare.startswith(("`", "~")) else bare
    sign = bare[: len(bare) - len(rest)]
    return (sign, rest) if len(sign) >= SHORTEST_FENCE else ("", line)


def disarm(text: str) -> str:
    """Turn images into links, and link definitions and HTML elements into text."""
    text = "".join(escape_definitions(unlink_images(block)) for block in BLANK.split(text))
    return ELEMENT.sub("&lt;", ELEMENT_LINE.sub(r"\1&lt;", text))


def unlink_images(block: str) -> str:
    """Turn images into links; only what precedes the last `](` of a block can be one."""
    end = block.rfind("](")
    return PICTURE.sub("", block[: end + 1]) + block[end + 1 :] if end >= 0 else block


def escape_definitions(block: str) -> str:
    """Escape link definitions; only a line that starts before the last `]:` of a block can be one."""
    end = block.rfind("]:")
    return DEFINITION.sub(lambda found: found[0] + "\\", block[:end]) + block[end:] if end >= 0 else block
