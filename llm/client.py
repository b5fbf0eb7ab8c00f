"""The model client: blocks the calling thread while the answer streams on the process's event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import replace
from functools import lru_cache
from typing import Any, TypeVar

from durable import tracing
from durable.database import outside_wait
from durable.per_process import background_loop
from durable.stop_signal import StopSignal
from llm import limits
from llm.catalog import is_for_chat
from llm.endpoint import Endpoint, origin_of
from llm.endpoint_rows import refresh
from llm.endpoints import configured_model, configured_title_model, current_endpoint, locate
from llm.errors import AnswerCancelled, BadModelRequest, ModelUnavailable
from llm.retry import Policy
from llm.types import Completion, Delta, Request

T = TypeVar("T")

# The protocol, not the provider: any server may speak it.
PROVIDERS = {"chat": "openai", "responses": "openai", "anthropic": "anthropic"}


def stream(
    request: Request,
    on_delta: Callable[[Delta], None],
    *,
    cancelled: StopSignal,
    policy: Policy | None = None,
) -> Completion:
    """Block until the answer is complete; `on_delta` is called on the loop's thread and must not block.

    When `cancelled` is set, the connection to the model server is closed at once, Cancelled is raised and
    no delta follows. An exception from `on_delta` also ends the request, and is raised here.
    """
    if cancelled.is_set():
        raise AnswerCancelled
    from llm.model_call import ModelCall  # lazy: importing `openai` takes about a second

    policy = policy or Policy()
    request = replace(request, model=request.model or default_model())
    call = ModelCall(request=request, on_delta=on_delta, policy=policy)
    with tracing.span(f"chat {request.model}", _asked(request), kind="client") as span:
        completion = _wait(_until(cancelled, call.run()), seconds=policy.answer_seconds)
        span.set(_answered(completion))
    return completion


def _asked(request: Request) -> tracing.Attributes:
    """Return the trace attributes of a request by OpenTelemetry's conventions, never its content."""
    at = locate(request.model)
    return {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": PROVIDERS[at.endpoint.dialect],
        "gen_ai.request.model": at.model,
        "server.address": at.endpoint.host,
        "ratchet.messages": len(request.messages),
        "ratchet.tools": len(request.tools),
    }


def _answered(completion: Completion) -> tracing.Attributes:
    return {
        "gen_ai.response.model": completion.model,
        "gen_ai.response.finish_reasons": (completion.finish_reason,),
        "gen_ai.usage.input_tokens": completion.usage.input_tokens,
        "gen_ai.usage.output_tokens": completion.usage.output_tokens,
        "ratchet.tool_calls": len(completion.tool_calls),
        "ratchet.cost_usd": float(completion.cost),
    }


def complete(
    request: Request, *, cancelled: StopSignal | None = None, policy: Policy | None = None
) -> Completion:
    """Return the whole answer without streaming: for titles, summaries and AI blocks."""
    return stream(request, _ignore, cancelled=cancelled or StopSignal(), policy=policy)


def default_model() -> str:
    """Return the model used when none is named: COPILOT_MODEL, or the endpoint's default."""
    return configured_model() or _first_model(current_endpoint())


def picked_model(name: str) -> str:
    """Return the model that was picked, else the default one.

    An endpoint that this process has not heard of may have been added a moment ago: the rows are then read again, so
    that its models are not asked for elsewhere.
    """
    if "/" in name and locate(name).model == name:
        refresh()
    return name or default_model()


def title_model() -> str:
    """Return the small model for titles and summaries."""
    return configured_title_model() or default_model()


def carry_origin(model: str) -> str:
    """Return the mark of the carries of that model's answers."""
    at = locate(model)
    return origin_of(at.endpoint, at.model)


def found_models(endpoint: Endpoint, seconds: float = limits.MODEL_LIST_SECONDS) -> list[str]:
    """Return the models that a server says it has; raise the error behind a failure."""
    from llm.model_call import list_models  # lazy, as above

    return _wait(list_models(endpoint, Policy()), seconds=seconds)


def warm_up() -> None:
    """Import the `openai` client now, so that a worker's first turn does not wait for it."""
    import llm.model_call  # noqa: F401  # lazy, as above


@lru_cache(maxsize=16)
def _first_model(endpoint: Endpoint) -> str:
    """Return the first model that an unknown server offers: the only one, on most local servers."""
    names = found_models(endpoint)
    for name in names:
        if is_for_chat(name):
            return name
    raise BadModelRequest("The model server offers no model. An operator should set COPILOT_MODEL.")


@outside_wait()
def _wait(coroutine: Coroutine[Any, Any, T], *, seconds: float) -> T:
    """Run a coroutine on the loop; it is cancelled when the wait ends early."""
    future = asyncio.run_coroutine_threadsafe(coroutine, background_loop())
    try:
        return future.result(seconds)
    except TimeoutError:
        raise ModelUnavailable(
            f"The model took longer than {seconds:.0f} seconds. Please try again."
        ) from None
    finally:
        future.cancel()


async def _until(cancelled: StopSignal, coroutine: Coroutine[Any, Any, T]) -> T:
    """Run the coroutine, cancel it when the signal is set, and return only once it has ended."""
    loop = asyncio.get_running_loop()
    task = asyncio.ensure_future(coroutine)

    def stop() -> None:
        loop.call_soon_threadsafe(task.cancel)

    remove = cancelled.add_callback(stop)
    try:
        return await task
    except asyncio.CancelledError:
        if cancelled.is_set() and task.cancelled():
            raise AnswerCancelled from None
        raise
    finally:
        remove()


def _ignore(delta: Delta) -> None:
    """Ignore a delta, for callers that only want the whole answer."""
