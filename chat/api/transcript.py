"""A whole conversation as text, a piece at a time: JSON for programs, Markdown for people."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import chain
from typing import Any

from chat.api.messages import UIMessage, ui_messages
from chat.api.passive_markdown import PassiveMarkdown
from chat.models import Message, Session
from chat.owners import Owner
from durable import limits

YOU, ANSWER = "You", "Answer"


def as_json(session: Session, about: dict[str, Any]) -> Iterator[str]:
    """`{"session": …, "messages": […]}`, the messages as the API shows them."""
    yield f'{{"session": {json.dumps(about, ensure_ascii=False, default=str)}, "messages": ['
    for place, message in enumerate(all_messages(session)):
        yield ("," if place else "") + "\n" + json.dumps(message, ensure_ascii=False, default=str)
    yield "\n]}\n"


def as_markdown(session: Session) -> Iterator[str]:
    """For people, whose programs show pictures and HTML: nothing in it is loaded from elsewhere."""
    passive = PassiveMarkdown()
    yield f"# {passive.add(one_line(session.title)) or 'Conversation'}\n"
    for message in all_messages(session):
        who = YOU if message["role"] == Message.Role.USER else ANSWER
        yield f"\n## {who}, {message['metadata']['created_at'][:16].replace('T', ' ')} UTC\n"
        for part in message["parts"]:
            if words := part_in_words(part):
                yield f"\n{passive.add(words)}\n"


def all_messages(session: Session) -> Iterator[UIMessage]:
    """Oldest first, read in pages: however long the conversation is, little of it is in memory at once."""
    return chain.from_iterable(pages(session))


def pages(session: Session) -> Iterator[list[UIMessage]]:
    owner = Owner(user=session.user)
    rows = session.messages.exclude(seq=None).filter(turn__superseded_at=None).select_related("turn")
    after = -1
    while page := list(rows.filter(seq__gt=after).order_by("seq")[: limits.MAX_PAGE_SIZE]):
        yield ui_messages(page, owner)
        after = page[-1].seq or 0


def part_in_words(part: dict[str, Any]) -> str:
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
    said = output.get("message") if isinstance(output, dict) else None
    return str(part.get("errorText") or said or part["state"])


def one_line(text: str) -> str:
    return " ".join(text.split())
