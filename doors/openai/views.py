"""The endpoints of /v1. They take an API key and no cookie, and answer errors in OpenAI's shape."""

from __future__ import annotations

import functools
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from django.http import HttpRequest, JsonResponse
from django.http.response import HttpResponseBase
from django.views.decorators.csrf import csrf_exempt

from chat import turns
from chat.models import Turn
from chat.threads import in_parser_thread, in_thread
from doors.openai import (
    access,
    agent_runs,
    chat_request,
    completion_object,
    embeddings,
    errors,
    fields,
    identity,
    limits,
    model_names,
    response_object,
    responses_request,
    streams,
    submission,
)
from doors.openai.access import Caller
from doors.openai.asked import ClientAsk
from doors.openai.conversations import SESSION_HEADER
from doors.openai.errors import AS_WRITTEN, OpenAIError, UnknownResponse, UnusableRequest
from doors.openai.identity import RequestIdentity
from doors.openai.response_events import SERVER_SENT
from durable import storable
from executions import cancellation
from executions.limits import MAX_JSON_DEPTH
from executions.models import Execution

View = Callable[..., Awaitable[HttpResponseBase]]
MAX_NUMBER_CHARACTERS = 16


def endpoint(**methods: View) -> Any:
    """Return the view of one address: authenticate, choose by method, and answer any error in OpenAI's shape."""

    @csrf_exempt
    async def view(request: HttpRequest, **place: str) -> HttpResponseBase:
        try:
            chosen = methods.get((request.method or "").lower())
            if chosen is None:
                refused = OpenAIError(f"{request.method} is not allowed here.", code="method_not_allowed")
                refused.status = HTTPStatus.METHOD_NOT_ALLOWED
                raise refused
            caller = await in_thread(access.authenticate, request.headers)
            return await chosen(request, caller, **place)
        except Exception as error:  # noqa: BLE001 - the API's exception handler
            return errors.respond(error)

    return view


@csrf_exempt
async def unknown_address(request: HttpRequest, **place: str) -> HttpResponseBase:
    """Answer an address that does not exist."""
    missing = OpenAIError(f"Unknown request URL: {request.method} {request.path[:200]}.", code="unknown_url")
    missing.status = HTTPStatus.NOT_FOUND
    return errors.respond(missing)


@dataclass(frozen=True, kw_only=True)
class ReadRequest:
    """A request that asks for an answer."""

    asked: ClientAsk
    identity: RequestIdentity
    named: str  # the session that a header names


async def read_request(
    request: HttpRequest, caller: Caller, read: Callable[[fields.Body], ClientAsk]
) -> ReadRequest:
    """Parse and check the body, and count the request."""
    raw = request.body
    body = await parsed(raw)
    await in_thread(access.count_request, caller)
    asked = read(body)
    return ReadRequest(
        asked=asked,
        identity=identity.identify(request.path, raw, request.headers, asked.metadata),
        named=request.headers.get(SESSION_HEADER, ""),
    )


async def parsed(raw: bytes) -> fields.Body:
    text = await in_thread(decode, raw) if len(raw) > limits.MAX_LOOP_BODY_BYTES else decode(raw)
    if len(raw) <= limits.MAX_LOOP_BODY_BYTES:
        return parse(text)
    return await in_parser_thread(parse, text)


def decode(raw: bytes) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        raise UnusableRequest("The body is not UTF-8.") from None


def parse(text: str) -> fields.Body:
    """Return the body as an object that can be stored; raise UnusableRequest."""
    try:
        body = storable.loads(text)
        storable.check(body, max_depth=MAX_JSON_DEPTH)
    except storable.NotStorable as error:
        raise UnusableRequest(f"The body cannot be stored: {error}.") from None
    except ValueError:
        raise UnusableRequest("The body is not valid JSON.", code="invalid_json") from None
    return fields.mapping(body, "body")


def answer(body: Any) -> JsonResponse:
    return JsonResponse(body, json_dumps_params=AS_WRITTEN)


# --- models ---------------------------------------------------------------------------------------


async def list_models(request: HttpRequest, caller: Caller) -> HttpResponseBase:
    found = await in_thread(model_names.listed, caller)
    return answer({"object": "list", "data": [model.as_json() for model in found]})


async def show_model(request: HttpRequest, caller: Caller, name: str) -> HttpResponseBase:
    return answer((await in_thread(model_names.find, caller, name)).as_json())


# --- chat completions -----------------------------------------------------------------------------


async def create_completion(request: HttpRequest, caller: Caller) -> HttpResponseBase:
    got = await read_request(request, caller, chat_request.read)
    asked = got.asked
    named = await in_thread(model_names.find, caller, asked.model)
    if named.agent is not None:
        run = functools.partial(agent_runs.run, caller, named.agent, asked, got.identity)
        return await answer_by_agent(await in_thread(run), asked)
    submit = functools.partial(submission.submit, caller, asked, got.identity, named=got.named)
    submitted = await in_thread(submit)
    turn, is_new = submitted.turn, submitted.created
    if asked.stream:
        return streams.respond(
            streams.completion_lines(turn, is_new=is_new, include_usage=asked.include_usage)
        )
    ended = await streams.wait_for_end(turn, is_new=is_new)
    if ended.status == Turn.FAILED:
        raise errors.of_turn(ended)
    return answer(await in_thread(completion_object.completion, ended))


async def answer_by_agent(execution: Execution, asked: ClientAsk) -> HttpResponseBase:
    if asked.stream:
        lines = agent_runs.completion_lines(execution, asked.model, include_usage=asked.include_usage)
        return streams.respond(lines)
    ended = await agent_runs.wait_for_news(execution)
    if ended.status == Execution.FAILED:
        raise agent_runs.failure_of(ended)
    return answer(await in_thread(agent_runs.completion, ended, asked.model))


# --- responses ------------------------------------------------------------------------------------


async def create_response(request: HttpRequest, caller: Caller) -> HttpResponseBase:
    got = await read_request(request, caller, responses_request.read)
    asked = got.asked
    named = await in_thread(model_names.find, caller, asked.model)
    if named.agent is not None:
        run = functools.partial(agent_runs.run, caller, named.agent, asked, got.identity)
        return await respond_by_agent(await in_thread(run), asked)
    submit = functools.partial(submission.submit, caller, asked, got.identity, named=got.named)
    submitted = await in_thread(submit)
    turn, is_new = submitted.turn, submitted.created
    if asked.stream:
        return streams.respond(streams.response_lines(turn, is_new=is_new))
    if not asked.background:
        turn = await streams.wait_for_end(turn, is_new=is_new)
    return answer(await in_thread(response_of, turn))


def response_of(turn: Turn) -> dict[str, Any]:
    turn.refresh_from_db()
    return response_object.response(turn)


async def respond_by_agent(execution: Execution, asked: ClientAsk) -> HttpResponseBase:
    if asked.stream:
        return streams.respond(agent_lines(execution, asked.model))
    if not asked.background:
        execution = await agent_runs.wait_for_news(execution)
    return answer(await in_thread(agent_runs.response, execution, asked.model))


async def agent_lines(execution: Execution, model: str, after: int = -1) -> AsyncGenerator[str]:
    events = agent_runs.response_events(execution, model, framing=SERVER_SENT, after=after)
    async with aclosing(events) as batches:
        async for batch in batches:
            yield "".join(batch)


async def show_response(request: HttpRequest, caller: Caller, response_id: str) -> HttpResponseBase:
    """Return a response as it stands, or stream it from its beginning or from what follows an event."""
    row = await in_thread(find_row, caller, response_id)
    if request.GET.get("stream") not in ("true", "True", "1"):
        return answer(await in_thread(shown, row))
    after = starting_after(request)
    if isinstance(row, Execution):
        return streams.respond(agent_lines(row, "", after))
    return streams.respond(streams.response_lines(row, is_new=False, after=after))


def shown(row: Turn | Execution) -> dict[str, Any]:
    return agent_runs.response(row) if isinstance(row, Execution) else response_object.response(row)


def starting_after(request: HttpRequest) -> int:
    text = request.GET.get("starting_after", "")
    if not text:
        return -1
    if not (text.isascii() and text.isdecimal() and len(text) <= MAX_NUMBER_CHARACTERS):
        raise UnusableRequest("`starting_after` must be a sequence number.", param="starting_after")
    return int(text)


def find_row(caller: Caller, response_id: str) -> Turn | Execution:
    row = submission.turn_of(caller, response_id) or agent_runs.find(caller, response_id)
    if row is None:
        raise UnknownResponse(f"Response with id {response_id[:100]!r} not found.", param="response_id")
    return row


async def cancel_response(request: HttpRequest, caller: Caller, response_id: str) -> HttpResponseBase:
    """Stop a response, in the foreground or not; one that has ended stays as it is."""
    return answer(await in_thread(cancel, caller, response_id))


def cancel(caller: Caller, response_id: str) -> dict[str, Any]:
    row = find_row(caller, response_id)
    if isinstance(row, Execution):
        cancellation.cancel(row.pk)
        row.refresh_from_db()
        return agent_runs.response(row)
    turns.cancel(row)
    return response_of(row)


async def delete_response(request: HttpRequest, caller: Caller, response_id: str) -> HttpResponseBase:
    """Delete a response with what was asked; it is stopped if it runs."""
    return answer(await in_thread(delete, caller, response_id))


def delete(caller: Caller, response_id: str) -> dict[str, Any]:
    row = find_row(caller, response_id)
    if isinstance(row, Execution):
        raise UnusableRequest("The run of an agent is deleted in the library, not here.", code="unsupported")
    turns.delete(row)
    return {"id": response_id, "object": "response", "deleted": True}


async def list_input(request: HttpRequest, caller: Caller, response_id: str) -> HttpResponseBase:
    row = await in_thread(find_row, caller, response_id)
    found = [] if isinstance(row, Execution) else await in_thread(response_object.input_items, row)
    if request.GET.get("order") == "asc":
        found.reverse()
    shown = found[: limits.MAX_INPUT_ITEMS]
    return answer(
        {
            "object": "list",
            "data": shown,
            "first_id": shown[0]["id"] if shown else None,
            "last_id": shown[-1]["id"] if shown else None,
            "has_more": len(found) > len(shown),
        }
    )


# --- embeddings -----------------------------------------------------------------------------------


async def create_embeddings(request: HttpRequest, caller: Caller) -> HttpResponseBase:
    body = await parsed(request.body)
    await in_thread(access.count_request, caller)
    known = identity.identify(request.path, request.body, request.headers, {})
    return answer(await embeddings.create(caller, body, known))
