"""The retry policy: pure functions that decide what to do after a failed try; the client does the waiting."""

from __future__ import annotations

import email.utils
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import Enum

from durable import limits as durable_limits
from llm import limits
from llm.errors import BadModelAnswer, LLMError, ModelCut, ModelIdle, ModelUnavailable, RateLimited


@dataclass(frozen=True, kw_only=True)
class Policy:
    """The numbers of the retry policy; tests pass shorter ones."""

    tries: int = limits.MODEL_TRIES
    cut_tries: int = limits.MODEL_CUT_TRIES
    inline_retry_after_seconds: float = limits.MODEL_INLINE_RETRY_AFTER_SECONDS
    connect_seconds: float = limits.MODEL_CONNECT_SECONDS
    idle_seconds: float = limits.MODEL_IDLE_SECONDS
    answer_seconds: float = durable_limits.MAX_TURN_SECONDS
    backoff_seconds: float = limits.MODEL_BACKOFF_SECONDS
    backoff_cap_seconds: float = limits.MODEL_BACKOFF_CAP_SECONDS
    max_answer_bytes: int = limits.MODEL_MAX_ANSWER_BYTES


class Kind(Enum):
    """How a try failed."""

    RATE_LIMITED = "rate limited"
    UNAVAILABLE = "not reachable"
    CUT = "cut off"
    IDLE = "silent"
    NONSENSE = "not making sense"
    FINAL = "refused"  # a retry would give the same


@dataclass(frozen=True, kw_only=True)
class Failure:
    """One failed try; `started` when part of an answer had already been shown."""

    kind: Kind
    detail: str = ""
    started: bool = False
    retry_after: float | None = None
    error: LLMError | None = None  # what to raise; always there when the kind is FINAL
    is_of_endpoint: bool = False  # its key, credit or models: another endpoint may answer the same request


@dataclass(frozen=True, kw_only=True)
class Tries:
    """The tries used up: requests that failed before their first token, and answers cut after it."""

    failed: int = 0
    cut: int = 0


@dataclass(frozen=True, kw_only=True)
class Again:
    """Ask once more after a wait."""

    seconds: float
    message: str
    tries: Tries


@dataclass(frozen=True, kw_only=True)
class GiveUp:
    """Raise the error, unless another model may be asked first: any of the chain, or only one of another endpoint."""

    error: LLMError
    may_fall_back: bool
    may_ask_elsewhere: bool = False


def decide(
    failure: Failure, tries: Tries, policy: Policy, *, uniform: Callable[[float, float], float]
) -> Again | GiveUp:
    """Return whether to retry: a FINAL failure ends it unless another endpoint may do better, a long pause leads to
    another endpoint or frees the worker, the rest is retried."""
    if failure.kind is Kind.FINAL:
        assert failure.error is not None
        return GiveUp(error=failure.error, may_fall_back=False, may_ask_elsewhere=failure.is_of_endpoint)
    if failure.retry_after is not None and failure.retry_after > policy.inline_retry_after_seconds:
        return GiveUp(error=_rate_limited(failure, policy), may_fall_back=False, may_ask_elsewhere=True)
    tries = _count(failure, tries)
    if tries.failed >= policy.tries or tries.cut > policy.cut_tries:
        return GiveUp(error=_error(failure, policy), may_fall_back=True)
    seconds = failure.retry_after
    if seconds is None:
        seconds = backoff(tries.failed + tries.cut, policy, uniform=uniform)
    return Again(seconds=seconds, message=_note(failure, seconds), tries=tries)


def backoff(failures: int, policy: Policy, *, uniform: Callable[[float, float], float]) -> float:
    """Return a wait with full jitter, between the shortest wait and a ceiling that doubles with each failure."""
    ceiling = min(policy.backoff_cap_seconds, policy.backoff_seconds * 2**failures)
    return uniform(policy.backoff_seconds, ceiling)


def read_retry_after(headers: Mapping[str, str], *, now: float) -> float | None:
    """Return the seconds the server asks us to wait: retry-after-ms, or Retry-After as seconds or as a date."""
    milliseconds = _number(headers.get("retry-after-ms", ""))
    if milliseconds is not None:
        return max(0.0, milliseconds / 1000)
    text = headers.get("retry-after", "")
    seconds = _number(text)
    if seconds is not None:
        return max(0.0, seconds)
    date = email.utils.parsedate_tz(text)
    return (
        None
        if date is None
        else min(max(0.0, email.utils.mktime_tz(date) - now), limits.MODEL_MAX_RETRY_AFTER_SECONDS)
    )


def _count(failure: Failure, tries: Tries) -> Tries:
    if failure.started:
        return replace(tries, cut=tries.cut + 1)
    return replace(tries, failed=tries.failed + 1)


def _error(failure: Failure, policy: Policy) -> LLMError:
    if failure.error is not None:
        return failure.error
    match failure.kind:
        case Kind.RATE_LIMITED:
            return _rate_limited(failure, policy)
        case Kind.CUT:
            return ModelCut(detail=failure.detail)
        case Kind.IDLE:
            return ModelIdle(detail=failure.detail)
        case Kind.NONSENSE:
            return BadModelAnswer(detail=failure.detail)
        case _:
            return ModelUnavailable(detail=failure.detail)


def _rate_limited(failure: Failure, policy: Policy) -> RateLimited:
    """Return the error; its pause is always longer than an inline wait, so that the caller frees the worker."""
    asked = failure.retry_after or 0.0
    if asked <= policy.inline_retry_after_seconds:
        asked = 2 * policy.inline_retry_after_seconds
    return RateLimited(retry_after=asked, detail=failure.detail)


def _note(failure: Failure, seconds: float) -> str:
    what = {
        Kind.RATE_LIMITED: "The model is rate limited",
        Kind.CUT: "The answer broke off",
        Kind.IDLE: "The model stopped responding",
        Kind.NONSENSE: "The model server sent an invalid answer",
    }.get(failure.kind, "The model server is not answering")
    return f"{what}, next try in {seconds:.0f} s" if seconds >= 1 else f"{what}, trying again"


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return min(number, limits.MODEL_MAX_RETRY_AFTER_SECONDS) if 0 <= number < math.inf else None
