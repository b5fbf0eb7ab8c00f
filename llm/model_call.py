"""One call of the model: a request with its retries and fallbacks, on the event loop.

The client imports it at first use only, because importing `openai` takes about a second.
"""

from __future__ import annotations

import asyncio
import json
import logging
import random
import re
from collections.abc import Callable
from dataclasses import replace

import httpx2

from durable import counters
from llm import prices, transport
from llm.answer import AnswerCollector
from llm.carry import only_newest
from llm.dialects import dialect_for
from llm.dialects.base import Dialect
from llm.endpoint import Endpoint, origin_of
from llm.endpoint_health import note_answer, note_failure
from llm.endpoints import ModelAddress, common_fallbacks, locate
from llm.errors import BadModelRequest
from llm.failures import TryFailed, from_status, naming_settings, scrub, without_quotes
from llm.retry import Again, Failure, GiveUp, Kind, Policy, Tries, decide
from llm.tokens import estimate_message_tokens, estimate_tokens
from llm.transport import EventSplitter
from llm.types import Completion, Delta, FailedTry, Request, RetryNote, StreamReset, Usage

logger = logging.getLogger(__name__)

MAX_ADAPTATIONS = 4  # optional fields that a server may refuse one after the other
ABOUT_CARRIES = re.compile(r"signature|encrypt|reasoning|think|thought", re.IGNORECASE)


class ModelCall:
    """A request with what stays the same over its tries."""

    def __init__(self, *, request: Request, on_delta: Callable[[Delta], None], policy: Policy) -> None:
        self._request = request
        self._on_delta = on_delta
        self._policy = policy
        self._fewer_carries = False
        self._bodies: dict[str, bytes] = {}
        self._body(
            request.model
        )  # encoded on the caller's thread: a long history must not block other streams

    def _body(self, model: str) -> bytes:
        if model not in self._bodies:
            request = self._request
            if self._fewer_carries:
                request = replace(request, messages=only_newest(request.messages))
            at = locate(model)
            self._bodies[model] = _dialect(at).write(request, at.model)
        return self._bodies[model]

    async def run(self) -> Completion:
        """Send the request, and retry as long as the policy allows."""
        tries = Tries()
        while True:
            outcome = await self._try(self._request.model)
            if isinstance(outcome, Completion):
                return outcome
            self._note(outcome, self._request.model)
            match decide(outcome, tries, self._policy, uniform=random.uniform):
                case GiveUp() as end:
                    return await self._end(end, outcome)
                case Again() as again:
                    tries = again.tries
                    self._announce(outcome, again.message, again.seconds)
                    await asyncio.sleep(again.seconds)

    async def _end(self, end: GiveUp, failure: Failure) -> Completion:
        """Ask the fallback models, once each, if there are any and they may help; else raise the error."""
        asked = self._request.model
        for model in self._fallbacks(end):
            self._announce(failure, f"{asked} is {failure.kind.value}, asking {model} instead", 0)
            outcome = await self._try(model)
            if isinstance(outcome, Completion):
                return outcome
            self._note(outcome, model)
            logger.warning("The fallback model failed too", extra={"model": model, "detail": outcome.detail})
            asked, failure = model, outcome
        raise naming_settings(end.error, locate(self._request.model).endpoint)

    def _fallbacks(self, end: GiveUp) -> list[str]:
        """Return the models to ask instead; where a server wants a long pause, those of other servers only."""
        chain = self._request.fallbacks
        chain = common_fallbacks() if chain is None else chain
        names = [model for model in chain if model != self._request.model]
        if end.may_fall_back:
            return names
        first = locate(self._request.model).endpoint
        return [model for model in names if end.may_ask_elsewhere and locate(model).endpoint != first]

    def _note(self, failure: Failure, model: str) -> None:
        kind = failure.kind.name.lower()
        counters.count(counters.CounterBuffer.MODEL_ERRORS, kind)
        note_failure(locate(model).endpoint, failure)
        self._on_delta(FailedTry(model=model, kind=kind, detail=failure.detail))

    def _announce(self, failure: Failure, message: str, seconds: float) -> None:
        logger.info("Retrying the model request", extra={"kind": failure.kind.name, "detail": failure.detail})
        if failure.started:
            self._on_delta(StreamReset(reason=message))
        self._on_delta(RetryNote(message=message, seconds=seconds))

    async def _try(self, model: str) -> Completion | Failure:
        at = locate(model)
        answer = _dialect(at).answer(self._on_delta)
        try:
            await self._ask(model, at, answer)
            completion = self._completion(model, at, answer)
            note_answer(at.endpoint)
            return completion
        except TryFailed as failed:
            failure = replace(failed.failure, started=answer.started)
        return without_quotes(scrub(failure, at.endpoint.api_key), self._request.messages)

    async def _ask(self, model: str, at: ModelAddress, answer: AnswerCollector) -> None:
        """Send the request and read the answer; a field that the server refuses is left out from then on."""
        dialect = _dialect(at)
        for adaptations in range(MAX_ADAPTATIONS + 1):
            body = self._body(model)
            try:
                async with transport.open_stream(at.endpoint, dialect, body, self._policy) as response:
                    await self._read(response, answer)
                return
            except transport.Refused as error:
                refused = error
            failure = from_status(refused.status, refused.body, refused.headers)
            if adaptations == MAX_ADAPTATIONS or not (
                dialect.learn(refused.status, refused.body, body) or self._can_do_with_fewer_carries(failure)
            ):
                raise TryFailed(failure)
            del self._bodies[model]

    def _can_do_with_fewer_carries(self, failure: Failure) -> bool:
        """Return whether to retry without the carries of earlier exchanges: a provider that no longer accepts what it
        gave would end the conversation for good."""
        refused = isinstance(failure.error, BadModelRequest) and ABOUT_CARRIES.search(failure.detail)
        fewer = only_newest(self._request.messages)
        if not refused or self._fewer_carries or fewer == list(self._request.messages):
            return False
        self._fewer_carries = True
        logger.warning("A model refused the data of its earlier answers; retrying without it")
        return True

    async def _read(self, response: httpx2.Response, answer: AnswerCollector) -> None:
        chunks = transport.read_chunks(response, max_bytes=self._policy.max_answer_bytes)
        kind = response.headers.get("content-type", "").lower()
        if "html" in kind or ("json" in kind and "event-stream" not in kind):
            await _read_whole(b"".join([chunk async for chunk in chunks]), kind, answer)
            return
        splitter = EventSplitter()
        async for chunk in chunks:
            events = splitter.feed(chunk)
            if events:
                answer.take(events)
                if answer.done:
                    await transport.drain(chunks)
                    return
        _take_last(splitter.close(), answer)
        if not answer.chunks and splitter.strange:
            # quoted up to the first brace: a chunk in another framing may hold what is never logged
            shown = splitter.strange.partition(b"{")[0]
            raise _nonsense(f"The server sent no event stream: {shown!r}")

    def _completion(self, model: str, at: ModelAddress, answer: AnswerCollector) -> Completion:
        finish_reason = answer.finish()
        usage = answer.usage or self._estimate(answer)
        own = dict(at.endpoint.prices)
        known = prices.cost_of(at.model, usage, is_local=at.endpoint.is_local, own=own)
        return Completion(
            text=answer.text(),
            reasoning=answer.reasoning(),
            tool_calls=answer.tool_calls(),
            finish_reason=finish_reason,
            usage=usage,
            model=model,
            cost=known if answer.reported_cost is None else answer.reported_cost,
            carry=answer.carry(origin_of(at.endpoint, at.model)),
        )

    def _estimate(self, answer: AnswerCollector) -> Usage:
        """Return the usage estimated from the characters of request and answer."""
        tools = json.dumps([tool.parameters for tool in self._request.tools]) if self._request.tools else ""
        calls = sum(estimate_tokens(call.name + call.arguments) for call in answer.tool_calls())
        reasoning = estimate_tokens(answer.reasoning())
        return Usage(
            input_tokens=estimate_message_tokens(self._request.messages) + estimate_tokens(tools),
            output_tokens=estimate_tokens(answer.text()) + reasoning + calls,
            reasoning_tokens=reasoning,
            estimated=True,
        )


def _dialect(at: ModelAddress) -> Dialect:
    return dialect_for(at.endpoint, at.model)


async def list_models(endpoint: Endpoint, policy: Policy) -> list[str]:
    """Return the ids of the models that the server offers; raises the error behind a failure."""
    try:
        return await transport.list_models(endpoint, policy)
    except transport.Refused as error:
        failure = from_status(error.status, error.body, error.headers)
    except TryFailed as error:
        failure = error.failure
    end = decide(scrub(failure, endpoint.api_key), Tries(), replace(policy, tries=1), uniform=random.uniform)
    assert isinstance(end, GiveUp)
    raise naming_settings(end.error, endpoint)


async def _read_whole(body: bytes, kind: str, answer: AnswerCollector) -> None:
    if "html" in kind:
        raise _nonsense(f"The server sent a web page: {body[:200]!r}")
    answer.take_whole(body)


def _take_last(events: list[bytes], answer: AnswerCollector) -> None:
    """Read the event at which a stream stopped; half of one is a cut, not an invalid answer."""
    try:
        answer.take(events)
    except TryFailed as failed:
        if failed.failure.kind is not Kind.NONSENSE:
            raise
        cut = replace(failed.failure, kind=Kind.CUT)
    else:
        return
    raise TryFailed(cut)


def _nonsense(detail: str) -> TryFailed:
    return TryFailed(Failure(kind=Kind.NONSENSE, detail=detail))
