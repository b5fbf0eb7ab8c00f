"""The endpoint /mcp: one message in, one response out. Every process can answer every request."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from http import HTTPStatus
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from django.views.decorators.csrf import csrf_exempt

from chat.threads import in_thread
from doors.callers import Caller, bearer_token, caller_with_key, caller_with_token
from doors.mcp import (
    answers,
    call_streams,
    calls,
    errors,
    exchange,
    messages,
    methods,
    origins,
    protocol,
    streams,
)
from doors.mcp.errors import McpError, NotSignedIn
from doors.mcp.exchange import Exchange
from doors.mcp.messages import MessageId, RpcAnswer, RpcMessage, RpcNotification, RpcRequest
from doors.mcp.outcomes import StartedWork

AS_WRITTEN = {"separators": (",", ":"), "ensure_ascii": False}
STREAM = "text/event-stream"
OLDER_ERRORS = HTTPStatus.OK  # in the body alone, as older clients expect


@csrf_exempt
async def endpoint(request: HttpRequest) -> HttpResponseBase:
    """Answer one message of a client; it needs a key or a sign-in, and no cookie."""
    try:
        origins.check(request)
        if request.method != "POST":
            return HttpResponse(status=HTTPStatus.METHOD_NOT_ALLOWED, headers={"Allow": "POST"})
        caller = await in_thread(authenticate, request.headers)
    except Exception as error:  # noqa: BLE001 - the API's exception handler
        return refuse(error, None)
    return await respond(request, caller)


def authenticate(headers: Mapping[str, str]) -> Caller:
    """Return who calls, by API key or by the token of a sign-in; raise NotSignedIn."""
    token = bearer_token(headers)
    found = caller_with_key(token) or caller_with_token(token)
    if found is None:
        raise NotSignedIn
    return found


async def respond(request: HttpRequest, caller: Caller) -> HttpResponseBase:
    raw, message = b"", None
    try:
        raw = request.body
        message = await messages.read(raw)
        return await dispatch(request, caller, message)
    except Exception as error:  # noqa: BLE001 - the API's exception handler
        if isinstance(message, RpcRequest):
            return refuse(error, message.id, as_older=not exchange.is_modern(message, request.headers))
        return refuse(error, messages.id_in(raw))


async def dispatch(request: HttpRequest, caller: Caller, message: RpcMessage) -> HttpResponseBase:
    match message:
        case RpcNotification():
            return HttpResponse(status=HTTPStatus.ACCEPTED)
        case RpcAnswer():
            await in_thread(answers.take, caller, message)
            return HttpResponse(status=HTTPStatus.ACCEPTED)
        case RpcRequest():
            return await answer(opened(request, caller, message))


def opened(request: HttpRequest, caller: Caller, message: RpcRequest) -> Exchange:
    modern = exchange.is_modern(message, request.headers)
    read = exchange.modern if modern else exchange.older
    accepts = request.headers.get("Accept", "")
    return read(message, request.headers, caller, accepts_stream=STREAM in accepts or "*/*" in accepts)


async def answer(given: Exchange) -> HttpResponseBase:
    if given.request.method == "tools/call":
        return await call(given)
    if given.request.method == "tasks/result" and not given.is_modern:
        return await stream_or_wait(given, await in_thread(answers.task_row, given))
    found = await in_thread(methods.answer, given)
    headers = {}
    if given.request.method == "initialize":
        declared = given.params.get("capabilities")
        headers[protocol.SESSION_HEADER] = exchange.session_id(
            given.caller, declared if isinstance(declared, dict) else {}
        )
    return as_json(messages.response(given.id, found), headers=headers)


async def call(given: Exchange) -> HttpResponseBase:
    """Run a tool: its result at once if it has one, a task, or a stream that ends with the result."""
    run = call_streams.ToolRun(given)
    if given.accepts_stream and (not await run.ends_silently() or run.asks()):
        return streams.respond(guarded(given, call_streams.follow_run(run)))
    end = await run.ended()
    found = await in_thread(calls.at_once, given, end)
    if found is not None:
        return as_json(messages.response(given.id, found))
    assert isinstance(end, StartedWork)
    return await stream_or_wait(given, end.row)


async def stream_or_wait(given: Exchange, row: Any) -> HttpResponseBase:
    if given.accepts_stream:
        return streams.respond(guarded(given, call_streams.follow_work(given, row)))
    last: Mapping[str, Any] | None = None
    async for message in call_streams.follow_work(given, row):
        last = message or last
    assert last is not None
    return as_json(last)


async def guarded(given: Exchange, found: AsyncGenerator[Any]) -> AsyncGenerator[Any]:
    """Yield the messages of a stream; an error in the middle becomes the response."""
    try:
        async for message in found:
            yield message
    except Exception as error:  # noqa: BLE001 - the API's exception handler
        yield messages.error_response(given.id, errors.translate(error).body())


# --- HTTP -----------------------------------------------------------------------------------------


def as_json(
    body: Mapping[str, Any], *, status: int = HTTPStatus.OK, headers: Mapping[str, str] | None = None
) -> HttpResponse:
    return JsonResponse(body, status=status, headers=dict(headers or {}), json_dumps_params=AS_WRITTEN)


def refuse(error: Exception, request_id: MessageId | None, *, as_older: bool = False) -> HttpResponseBase:
    """Return an error as the response to a request; before there is one, it has no id."""
    known = errors.translate(error)
    headers = known.headers()
    if known.status == HTTPStatus.UNAUTHORIZED:
        headers["WWW-Authenticate"] = challenge()
    status = OLDER_ERRORS if as_older and is_ordinary(known) else known.status
    return as_json(messages.error_response(request_id, known.body()), status=status, headers=headers)


def is_ordinary(error: McpError) -> bool:
    """Return whether older clients expect an error in a response that HTTP calls a success."""
    return error.code in (-32601, -32602, -32603) and error.status != HTTPStatus.SERVICE_UNAVAILABLE


def challenge() -> str:
    """Return the header that says how to sign in."""
    return f'Bearer realm="mcp", resource_metadata="{settings.SITE_URL}/.well-known/oauth-protected-resource/mcp"'
