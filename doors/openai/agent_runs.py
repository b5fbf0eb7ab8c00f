"""Agents as models: a request starts an execution, and its outputs are the answer."""

from __future__ import annotations

import itertools
import json
import uuid
from collections.abc import AsyncGenerator, Mapping
from typing import Any

from django.conf import settings
from django.utils.text import slugify

from chat.key_budgets import execution_prefix
from chat.threads import in_thread
from doors.openai import ids, limits, response_object
from doors.openai.access import Caller, check_budget
from doors.openai.asked import ClientAsk
from doors.openai.errors import OpenAIError, ServerError, UnusableRequest
from doors.openai.identity import RequestIdentity
from doors.openai.model_names import AGENT
from doors.openai.response_events import EventFraming, written
from durable.event_log import encode
from durable.ids import new_id
from durable.wait import wait_on_loop
from executions.models import Agent, Execution, Review
from executions.models.status import PublicStatus
from executions.redaction import shown_outputs
from executions.start import ExecutionRequest, start
from executions.wait import execution_with_news

STATUSES = {
    Execution.COMPLETED: "completed",
    Execution.FAILED: "failed",
    Execution.CANCELLED: "cancelled",
    PublicStatus.REVIEW: "incomplete",
}
NO_USAGE = {
    "input_tokens": 0,
    "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
    "output_tokens": 0,
    "output_tokens_details": {"reasoning_tokens": 0},
    "total_tokens": 0,
}


def run(caller: Caller, agent: Agent, asked: ClientAsk, identity: RequestIdentity) -> Execution:
    """Start the agent, or return the execution that an earlier try of the request has started."""
    prefix = execution_prefix(caller.key)
    if identity.repeats and not identity.is_explicit:
        same = Execution.objects.filter(user=caller.user, client_id__startswith=f"{prefix}{identity.key}:")
        if found := same.order_by("-queued_at").first():
            return found
    check_budget(caller)
    client_id = f"{prefix}{identity.key}" + ("" if identity.is_explicit else f":{new_id().hex}")
    inputs = inputs_for(agent, asked)
    return start(caller.user, agent, inputs, ExecutionRequest(client_id=client_id)).execution


def inputs_for(agent: Agent, asked: ClientAsk) -> dict[str, Any]:
    """Return the agent's inputs: `metadata.inputs`, the text as a JSON object, or the text for its only input."""
    version = agent.versions.filter(version=agent.latest_version).first()
    known: Mapping[str, Any] = (version.input_schema if version else {}).get("properties", {})
    if "inputs" in asked.metadata:
        found = as_object(asked.metadata["inputs"])
        if found is None:
            raise UnusableRequest("`metadata.inputs` must be a JSON object.", param="metadata.inputs")
        return found
    found = as_object(asked.text)
    if found is not None and (len(known) != 1 or found.keys() <= known.keys()):
        return found
    if not known:
        return {}
    if len(known) > 1:
        names = ", ".join(known)
        raise UnusableRequest(
            f"This agent has several inputs: {names}. Send them as a JSON object, or in `metadata.inputs`.",
            param="messages",
        )
    return {next(iter(known)): asked.text}


def as_object(text: str) -> dict[str, Any] | None:
    if not text.lstrip().startswith("{"):
        return None
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


async def wait_for_news(execution: Execution) -> Execution:
    """Return the execution once it has ended or asks a person."""

    async def look() -> Execution | None:
        return await in_thread(execution_with_news, execution.pk)

    found = await wait_on_loop(execution.pk, look, seconds=limits.MAX_AGENT_WAIT_SECONDS)
    return found if found is not None else await in_thread(reread, execution)


def reread(execution: Execution) -> Execution:
    return Execution.objects.select_related("agent").get(pk=execution.pk)


def find(caller: Caller, response_id: str) -> Execution | None:
    """Return the caller's execution by the id of its response, if it was started here."""
    row_id = ids.parse(response_id, ids.RESPONSE)
    rows = Execution.objects.filter(user=caller.user, client_id__startswith="v1:")
    return rows.select_related("agent").filter(pk=row_id).first() if row_id else None


# --- answers --------------------------------------------------------------------------------------


def text_of(execution: Execution) -> str:
    """Return the outputs as text: a single text as it is, anything else as JSON; or what a person has to decide."""
    if execution.public_status == PublicStatus.REVIEW:
        return what_to_decide(execution)
    outputs = shown_outputs(execution.outputs, execution.secrets)
    plain = {
        name: value[0] if isinstance(value, list) and len(value) == 1 else value
        for name, value in outputs.items()
    }
    if len(plain) == 1 and isinstance(only := next(iter(plain.values())), str):
        return only
    return encode(plain) if plain else ""


def what_to_decide(execution: Execution) -> str:
    waiting = Review.objects.filter(execution=execution, state=Review.State.WAITING).order_by("asked_at")
    questions = [review.name for review in waiting[: limits.MAX_SHOWN_REVIEWS]]
    asks = " ".join(f"“{question}”" for question in questions) or "a decision"
    place = f"{settings.SITE_URL}/library/{execution.agent_id}/executions/{execution.pk}"
    return f"The agent waits for a person to decide: {asks} Decide at {place}; this response then goes on."


def failure_of(execution: Execution) -> OpenAIError:
    return ServerError(execution.error or "The agent failed.", code=execution.end_reason or None)


def completion(execution: Execution, model: str) -> dict[str, Any]:
    """Return the chat completion of an execution."""
    message = {"role": "assistant", "content": text_of(execution), "refusal": None}
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}
    usage = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
    return head(execution, model, "chat.completion") | {"choices": [choice], "usage": usage}


def head(execution: Execution, model: str, kind: str) -> dict[str, Any]:
    created = int(execution.queued_at.timestamp())
    return {"id": ids.completion_id(execution.pk), "object": kind, "created": created, "model": model}


async def completion_lines(execution: Execution, model: str, *, include_usage: bool) -> AsyncGenerator[str]:
    """Yield the chat completion of an execution as a stream: the text comes when it has ended."""
    base = head(execution, model, "chat.completion.chunk")

    def line(delta: dict[str, Any], reason: str | None = None) -> str:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}
        return f"data: {encode(base | {'choices': [choice]})}\n\n"

    yield line({"role": "assistant", "content": ""})
    ended = await wait_for_news(execution)
    if ended.status == Execution.FAILED:
        yield f"data: {encode({'error': failure_of(ended).body()})}\n\n"
        return
    yield line({"content": await in_thread(text_of, ended)})
    yield line({}, "stop")
    if include_usage:
        usage = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
        yield f"data: {encode(base | {'choices': [], 'usage': usage})}\n\n"


def response(execution: Execution, asked_model: str = "") -> dict[str, Any]:
    """Return the response object of an execution."""
    public = execution.public_status
    status = STATUSES.get(public, "queued" if execution.status == Execution.QUEUED else "in_progress")
    found = frame(execution, asked_model) | {"status": status}
    if status in ("completed", "incomplete") and (text := text_of(execution)):
        found["output"] = [response_object.message_item(item_id(execution.pk), text, status)]
    if execution.is_terminal:
        found["usage"] = NO_USAGE
    if status == "failed":
        found["error"] = {"code": "server_error", "message": failure_of(execution).message}
    return found


def item_id(execution_id: uuid.UUID) -> str:
    return f"msg_{execution_id.hex}"


def frame(execution: Execution, model: str) -> dict[str, Any]:
    return {
        "id": ids.response_id(execution.pk),
        "object": "response",
        "created_at": int(execution.queued_at.timestamp()),
        "status": "queued",
        "background": False,
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "max_output_tokens": None,
        "model": model or f"{AGENT}{slugify(execution.agent.name)[:60]}",
        "output": [],
        "parallel_tool_calls": True,
        "previous_response_id": None,
        "store": True,
        "temperature": None,
        "text": {"format": {"type": "text"}},
        "tool_choice": "auto",
        "tools": [],
        "top_p": None,
        "truncation": "disabled",
        "usage": None,
        "metadata": {},
    }


async def response_events(
    execution: Execution, model: str, *, framing: EventFraming, after: int = -1
) -> AsyncGenerator[list[str]]:
    """Yield the events of an execution's response that follow the number `after`; their numbers are always the same."""
    numbers = itertools.count()

    def event(kind: str, **fields: Any) -> str:
        number = next(numbers)
        body = encode({"type": kind, "sequence_number": number, **fields})
        return framing.framed(kind, body) if number > after else ""

    base = frame(execution, model)
    yield written(
        [
            event("response.created", response=base),
            event("response.queued", response=base),
            event("response.in_progress", response=base | {"status": "in_progress"}),
        ]
    )
    ended = await wait_for_news(execution)
    whole = await in_thread(response, ended, model)
    events: list[str] = []
    for index, item in enumerate(whole["output"]):
        part = item["content"][0]
        of = {"item_id": item["id"], "output_index": index, "content_index": 0}
        begun = item | {"status": "in_progress", "content": []}
        events += [
            event("response.output_item.added", output_index=index, item=begun),
            event("response.content_part.added", **of, part=part | {"text": ""}),
            event("response.output_text.delta", **of, delta=part["text"], logprobs=[]),
            event("response.output_text.done", **of, text=part["text"], logprobs=[]),
            event("response.content_part.done", **of, part=part),
            event("response.output_item.done", output_index=index, item=item),
        ]
    kind = {"completed": "completed", "failed": "failed"}.get(whole["status"], "incomplete")
    yield written([*events, event(f"response.{kind}", response=whole)])
