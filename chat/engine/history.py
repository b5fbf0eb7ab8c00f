"""The conversation as the model reads it: always valid, every tool call with its result."""

from __future__ import annotations

import json
import uuid
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from boundary.taint import in_words
from chat.engine.prompt import as_data, known_facts, system_prompt
from chat.models import Message, Session, Step, Turn
from llm import carry
from tools.gates import GUIDE
from tools.models import ToolCall

ModelMessage = dict[str, Any]
NO_RESULT = {
    "type": "error",
    "message": "This call was interrupted before it had a result. It may have happened.",
}


def messages_for(turn: Turn, origin: str = "") -> list[ModelMessage]:
    """The system prompt, the summary of the older part, and everything since, up to the turn's last commit.

    `origin` names the model that reads it: answers have their carry where that model gave it.
    """
    session = turn.session
    opening: list[ModelMessage] = [{"role": "system", "content": system_prompt(session)}]
    said = [message for _, message in recent(session, origin)]
    if session.summary and (guide := pinned_guide(session, said)):
        opening.append({"role": "system", "content": guide})
    if facts := known_facts(session):
        opening.append({"role": "user", "content": facts})
    if session.summary:
        opening.append({"role": "user", "content": summary_of(session)})
    return opening + said


def summary_of(session: Session) -> str:
    """The summary as data: a model wrote it, of everything that was said and read."""
    read = in_words(session.outside_sources)
    source = "a model, of the messages and tool results so far" + (
        f", among them content from {read}" if read else ""
    )
    return as_data("Summary of the earlier part of this conversation", source, session.summary)


def pinned_guide(session: Session, said: list[ModelMessage]) -> str:
    """The guide on building agents, when it was read in the part that is only a summary now; else nothing."""
    if any(call["function"]["name"] == GUIDE for message in said for call in message.get("tool_calls") or ()):
        return ""
    read = ToolCall.objects.filter(session_id=session.pk, name=GUIDE, state=ToolCall.State.SUCCEEDED)
    newest = read.order_by("-started_at").first()
    if newest is None:
        return ""
    return f"What {GUIDE} answered earlier in this conversation:\n\n{json.dumps(newest.result, ensure_ascii=False)}"


def recent(session: Session, origin: str = "") -> list[tuple[int, ModelMessage]]:
    """The messages since the summary, as the model `origin` reads them, each with the place of its row."""
    placed = session.messages.filter(seq__gte=session.summary_until, turn__superseded_at=None)
    rows = [Row(*values) for values in placed.order_by("seq").values_list(*COLUMNS)]
    answers = Answers(rows)
    placed_messages = [(row.seq or 0, message) for row in rows for message in render(row, answers)]
    messages = carry.needed([message for _, message in placed_messages], origin)
    return [(place, dict(message)) for (place, _), message in zip(placed_messages, messages, strict=True)]


class Row(NamedTuple):
    """What the model reads of a message: a long conversation has thousands of them."""

    seq: int | None
    role: str
    turn_id: uuid.UUID | None
    steered_step: int | None
    text: str
    context: dict[str, Any] | None
    attachments: list[str]
    note: str | None
    kind: str | None


COLUMNS = (*Row._fields[:-2], "turn__note", "turn__kind")


def render(row: Row, answers: Answers) -> Iterator[ModelMessage]:
    if row.role == Message.Role.ASSISTANT:
        if row.note and row.kind == Turn.Kind.CONTINUATION:  # words of ours alone
            yield {"role": "system", "content": row.note}
        yield from answers.of(row.turn_id)
    elif row.steered_step is None:
        yield user_message(row)


def user_message(row: Row) -> ModelMessage:
    """What the person wrote, with the page they were looking at and the files they attached."""
    text = row.text
    if row.context:
        page = json.dumps(row.context, ensure_ascii=False)
        text += f"\n\n[The page I am looking at, as data: {page}]"
    if row.attachments:
        files = ", ".join(f"workspace://{file_id}" for file_id in row.attachments)
        text += f"\n\n[Attached files: {files}]"
    if row.note and row.kind == Turn.Kind.MESSAGE and row.steered_step is None:
        text += f"\n\n{as_data('Context of this task', 'the conversation that handed it over', row.note)}"
    return {"role": "user", "content": text}


class Answers:
    """The steps of the turns these rows belong to, as the messages of the model's own side."""

    def __init__(self, rows: Sequence[Row]) -> None:
        ids = list({row.turn_id for row in rows if row.turn_id is not None})
        self._steps: dict[uuid.UUID, list[Step]] = defaultdict(list)
        steps = Step.objects.filter(turn_id__in=ids).order_by("turn_id", "number")
        for step in steps.only("turn_id", "number", "parts", "carry"):
            self._steps[step.turn_id].append(step)
        self._calls = self._find_calls()
        self._steers: dict[tuple[uuid.UUID, int], list[Row]] = defaultdict(list)
        for row in rows:
            if row.turn_id is not None and row.steered_step is not None:
                self._steers[row.turn_id, row.steered_step].append(row)

    def _find_calls(self) -> dict[tuple[uuid.UUID | None, int, str], ToolCall]:
        callers = [
            turn_id
            for turn_id, steps in self._steps.items()
            if any(part["kind"] == "tool" for step in steps for part in step.parts)
        ]
        if not callers:
            return {}
        calls = ToolCall.objects.filter(turn_id__in=callers)
        return {
            (call.turn_id, call.step, call.call_id): call
            for call in calls.only("turn_id", "step", "call_id", "state", "result")
        }

    def of(self, turn_id: uuid.UUID | None) -> Iterator[ModelMessage]:
        """One turn: for each step what was steered in, what the model said, and what its tools answered."""
        if turn_id is None:
            return
        steps = self._steps[turn_id]
        for step in steps:
            yield from self._steered(turn_id, step.number)
            yield from self._said(step)
        yield from self._steered(turn_id, len(steps))  # waits before the model for the step that comes

    def _steered(self, turn_id: uuid.UUID, number: int) -> Iterator[ModelMessage]:
        for message in self._steers.get((turn_id, number), ()):
            yield user_message(message)

    def _said(self, step: Step) -> Iterator[ModelMessage]:
        calls = [part for part in step.parts if part["kind"] == "tool" and "cut" not in part]
        if not calls and not step.text:
            return
        said: ModelMessage = {"role": "assistant", "content": step.text or None}
        if calls:
            said["tool_calls"] = [tool_call(part) for part in calls]
        if step.carry:
            said[carry.CARRY] = carry.Carry.read(step.carry)
        yield said
        for part in calls:
            call = self._calls.get((step.turn_id, step.number, part["id"]))
            result = call.result if call is not None and call.is_finished else NO_RESULT
            content = json.dumps(result, ensure_ascii=False)
            yield {"role": "tool", "tool_call_id": part["id"], "content": content}


def tool_call(part: dict[str, Any]) -> dict[str, Any]:
    """A call as providers want it back: arguments must be JSON, also where the model had written something else."""
    arguments = part["arguments"]
    try:
        json.loads(arguments)
    except (ValueError, RecursionError):
        arguments = json.dumps({"unreadable": arguments[:1000]}) if arguments else "{}"
    return {
        "id": part["id"],
        "type": "function",
        "function": {"name": part["name"], "arguments": arguments},
    }
