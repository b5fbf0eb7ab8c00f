"""The response object of a turn, built from its rows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from chat.models import Message, Step, Turn
from chat.protocol import Part, text_of, tool_input
from chat.turn_options import TurnOptions
from doors.openai import ids
from doors.openai.responses_request import TOOL_DETAILS
from durable.event_log import encode
from tools.models import ToolCall, calls_of

Item = dict[str, Any]
STATUSES = {
    Turn.QUEUED: "queued",
    Turn.RUNNING: "in_progress",
    Turn.WAITING: "in_progress",
    Turn.COMPLETED: "completed",
    Turn.CANCELLED: "cancelled",
    Turn.FAILED: "failed",
}
CUT_SHORT = {"length": "max_output_tokens", "content_filter": "content_filter"}


@dataclass(frozen=True, kw_only=True)
class TurnView:
    """A turn with what its response shows."""

    turn: Turn
    options: TurnOptions
    steps: list[Step]
    calls: dict[tuple[int, str], ToolCall]

    @classmethod
    def of(cls, turn: Turn) -> TurnView:
        steps = list(turn.steps.defer("carry"))
        has_calls = any(part["kind"] == "tool" for step in steps for part in step.parts)
        calls = {(call.step, call.call_id): call for call in calls_of(turn.pk)} if has_calls else {}
        return cls(turn=turn, options=TurnOptions.of(turn), steps=steps, calls=calls)

    @property
    def client_tools(self) -> frozenset[str]:
        return frozenset(tool.name for tool in self.options.tools)

    @property
    def shows_tools(self) -> bool:
        return TOOL_DETAILS in self.options.echo.get("include", ())

    @property
    def text(self) -> str:
        """The text of the whole answer, as the database has it."""
        return "".join(text_of(step.parts) for step in self.steps)

    @property
    def finish_reason(self) -> str:
        """Why the last step ended, as the model said it."""
        return self.steps[-1].finish_reason if self.steps else ""

    def pending_calls(self) -> list[tuple[int, Part]]:
        """Return the calls that the client has to run: those of the last step."""
        if not self.steps:
            return []
        last = self.steps[-1]
        return [
            (last.number, part)
            for part in last.parts
            if part["kind"] == "tool" and "cut" not in part and part["name"] in self.client_tools
        ]


def response(turn: Turn) -> dict[str, Any]:
    """Return the whole response object, with what is committed so far."""
    view = TurnView.of(turn)
    status, details = ending(view)
    found = frame(turn, view.options) | {"status": status, "output": output(view)}
    if turn.is_terminal:
        found["usage"] = usage(turn)
        found["completed_at"] = (
            int(turn.ended_at.timestamp()) if turn.ended_at and status == "completed" else None
        )
    found["incomplete_details"] = {"reason": details} if details else None
    if status == "failed":
        found["error"] = {"code": error_code(turn), "message": turn.error or "The answer failed."}
    return found


def frame(turn: Turn, options: TurnOptions) -> dict[str, Any]:
    """Return the response object as it is when the turn was accepted; the same at any time."""
    echo = options.echo
    return {
        "id": ids.response_id(turn.pk),
        "object": "response",
        "created_at": int(turn.queued_at.timestamp()),
        "status": "queued",
        "background": bool(echo.get("background")),
        "completed_at": None,
        "error": None,
        "incomplete_details": None,
        "instructions": echo.get("instructions"),
        "max_output_tokens": options.max_output_tokens,
        "model": echo.get("model") or "copilot",
        "output": [],
        "parallel_tool_calls": options.parallel_tool_calls is not False,
        "previous_response_id": echo.get("previous_response_id"),
        "conversation": {"id": ids.conversation_id(turn.session_id)},
        "reasoning": {"effort": None, "summary": None},
        "store": echo.get("store", True),
        "temperature": options.temperature,
        "text": {"format": text_format(options)},
        "tool_choice": tool_choice(options),
        "tools": [
            {
                "type": "function",
                "name": tool.name,
                "description": tool.description,
                "parameters": tool.parameters,
                "strict": False,
            }
            for tool in options.tools
        ],
        "top_p": None,
        "truncation": "disabled",
        "usage": None,
        "user": echo.get("user"),
        "metadata": dict(echo.get("metadata") or {}),
    }


def text_format(options: TurnOptions) -> dict[str, Any]:
    wanted = options.response_format
    if not wanted:
        return {"type": "text"}
    return {"type": wanted["type"], **wanted.get("json_schema", {})}


def tool_choice(options: TurnOptions) -> Any:
    choice = options.tool_choice
    if choice is None or isinstance(choice, str):
        return choice or "auto"
    return {"type": "function", "name": choice["function"]["name"]}


def ending(view: TurnView) -> tuple[str, str]:
    """Return the status of the response, and why it is incomplete if it is."""
    status = STATUSES[view.turn.status]
    if status == "completed" and (reason := CUT_SHORT.get(view.finish_reason)):
        return "incomplete", reason
    return status, ""


def error_code(turn: Turn) -> str:
    return "rate_limit_exceeded" if turn.end_reason == Turn.EndReason.BUDGET else "server_error"


def usage(turn: Turn) -> dict[str, Any]:
    return {
        "input_tokens": turn.input_tokens,
        "input_tokens_details": {"cached_tokens": turn.cached_tokens, "cache_write_tokens": 0},
        "output_tokens": turn.output_tokens,
        "output_tokens_details": {"reasoning_tokens": turn.reasoning_tokens},
        "total_tokens": turn.input_tokens + turn.output_tokens,
    }


# --- items ----------------------------------------------------------------------------------------


def output(view: TurnView) -> list[Item]:
    """Return the items of everything that is committed: text, reasoning, calls."""
    return [
        item
        for step in view.steps
        for index, part in enumerate(step.parts)
        for item in items_of(view, step, index, part)
    ]


def items_of(view: TurnView, step: Step, index: int, part: Part) -> Iterable[Item]:
    status = "completed" if step.whole else "incomplete"
    match part["kind"]:
        case "text":
            yield message_item(
                prose_id("msg", view.turn, step.attempt, step.number, index), part["text"], status
            )
        case "reasoning":
            yield reasoning_item(
                prose_id("rs", view.turn, step.attempt, step.number, index), part["text"], status
            )
        case "tool" if part["name"] in view.client_tools:
            call_id = ids.client_call_id(view.turn.pk, step.number, part["id"])
            yield call_item(
                call_id, part["name"], part["arguments"], "incomplete" if "cut" in part else status
            )
        case "tool":
            item_id = tool_note_id(view.turn, step.number, part["id"])
            yield reasoning_item(
                item_id, used_tool(part["name"], part["arguments"], whole=view.shows_tools), status
            )
            call = view.calls.get((step.number, part["id"]))
            if view.shows_tools and call is not None and call.is_finished:
                yield reasoning_item(f"{item_id}_result", tool_result(call.error or call.result), status)


def prose_id(prefix: str, turn: Turn, attempt: int, step: int, index: int) -> str:
    return f"{prefix}_{turn.pk.hex}_{attempt}_{step}_{index}"


def tool_note_id(turn: Turn, step: int, call_id: str) -> str:
    return f"rs_{ids.client_call_id(turn.pk, step, call_id).removeprefix(ids.CALL)}"


def message_item(item_id: str, text: str, status: str) -> Item:
    part = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
    return {"id": item_id, "type": "message", "role": "assistant", "status": status, "content": [part]}


def reasoning_item(item_id: str, text: str, status: str) -> Item:
    summary = [{"type": "summary_text", "text": text}] if text else []
    return {"id": item_id, "type": "reasoning", "summary": summary, "status": status}


def call_item(call_id: str, name: str, arguments: str, status: str) -> Item:
    item_id = f"fc_{call_id.removeprefix(ids.CALL)}"
    return {
        "id": item_id,
        "type": "function_call",
        "call_id": call_id,
        "name": name,
        "arguments": arguments,
        "status": status,
    }


def used_tool(name: str, arguments: str, *, whole: bool) -> str:
    """Say that a tool of ours was used: a client would try to run it if it were sent as a call."""
    return f"Used {name}: {encode(tool_input(arguments))}" if whole else f"Used {name}."


def tool_result(result: Any) -> str:
    return result if isinstance(result, str) else encode(result)


# --- input ----------------------------------------------------------------------------------------


def input_items(turn: Turn) -> list[Item]:
    """Return what the person sent in this turn, newest first as OpenAI lists it."""
    rows = turn.messages.filter(role=Message.Role.USER).order_by("-seq", "-created_at")
    return [
        {
            "id": f"msg_{row.pk.hex}",
            "type": "message",
            "role": "user",
            "status": "completed",
            "content": [{"type": "input_text", "text": row.text}],
        }
        for row in rows
    ]
