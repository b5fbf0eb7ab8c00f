"""The retry policy as tables: pure decisions, no clock, no chance, no network."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llm.errors import (
    BadModelAnswer,
    BadModelRequest,
    LLMError,
    ModelCut,
    ModelIdle,
    ModelUnavailable,
    RateLimited,
)
from llm.retry import Again, Failure, GiveUp, Kind, Policy, Tries, backoff, decide, read_retry_after

POLICY = Policy(
    tries=3, cut_tries=2, inline_retry_after_seconds=10, backoff_seconds=0.5, backoff_cap_seconds=8
)


def highest(low: float, high: float) -> float:
    return high


def lowest(low: float, high: float) -> float:
    return low


@pytest.mark.parametrize(
    ("failure", "tries", "seconds", "after"),
    [
        (Failure(kind=Kind.UNAVAILABLE), Tries(), 1.0, Tries(failed=1)),
        (Failure(kind=Kind.UNAVAILABLE), Tries(failed=1), 2.0, Tries(failed=2)),
        (Failure(kind=Kind.IDLE), Tries(), 1.0, Tries(failed=1)),
        (Failure(kind=Kind.NONSENSE), Tries(), 1.0, Tries(failed=1)),
        (Failure(kind=Kind.CUT, started=True), Tries(), 1.0, Tries(cut=1)),
        (Failure(kind=Kind.CUT, started=True), Tries(cut=1), 2.0, Tries(cut=2)),
        (Failure(kind=Kind.IDLE, started=True), Tries(failed=2), 4.0, Tries(failed=2, cut=1)),
        (Failure(kind=Kind.RATE_LIMITED, retry_after=4), Tries(), 4.0, Tries(failed=1)),
        (Failure(kind=Kind.RATE_LIMITED, retry_after=10), Tries(failed=1), 10.0, Tries(failed=2)),
        (Failure(kind=Kind.RATE_LIMITED, retry_after=0), Tries(), 0.0, Tries(failed=1)),
        (Failure(kind=Kind.RATE_LIMITED), Tries(), 1.0, Tries(failed=1)),
    ],
)
def test_what_is_tried_again_and_after_how_long(
    failure: Failure, tries: Tries, seconds: float, after: Tries
) -> None:
    verdict = decide(failure, tries, POLICY, uniform=highest)
    assert isinstance(verdict, Again)
    assert (verdict.seconds, verdict.tries) == (seconds, after)
    assert verdict.message


REFUSED = BadModelRequest()


@pytest.mark.parametrize(
    ("failure", "tries", "error", "may_fall_back"),
    [
        (Failure(kind=Kind.FINAL, error=REFUSED), Tries(), BadModelRequest, False),
        (Failure(kind=Kind.UNAVAILABLE), Tries(failed=2), ModelUnavailable, True),
        (Failure(kind=Kind.IDLE), Tries(failed=2), ModelIdle, True),
        (Failure(kind=Kind.CUT), Tries(failed=2), ModelCut, True),
        (Failure(kind=Kind.CUT, started=True), Tries(cut=2), ModelCut, True),
        (Failure(kind=Kind.IDLE, started=True), Tries(cut=2), ModelIdle, True),
        (Failure(kind=Kind.NONSENSE, started=True), Tries(cut=2), BadModelAnswer, True),
        (Failure(kind=Kind.RATE_LIMITED, retry_after=10.1), Tries(), RateLimited, False),
        (Failure(kind=Kind.RATE_LIMITED, retry_after=5), Tries(failed=2), RateLimited, True),
    ],
)
def test_what_ends_the_tries_and_with_which_error(
    failure: Failure, tries: Tries, error: type[LLMError], may_fall_back: bool
) -> None:
    verdict = decide(failure, tries, POLICY, uniform=highest)
    assert isinstance(verdict, GiveUp)
    assert (type(verdict.error), verdict.may_fall_back) == (error, may_fall_back)


@pytest.mark.parametrize(("asked", "waited"), [(120.0, 120.0), (5.0, 20.0), (None, 20.0)])
def test_a_rate_limit_that_is_raised_always_asks_for_more_than_the_inline_wait(
    asked: float | None, waited: float
) -> None:
    verdict = decide(
        Failure(kind=Kind.RATE_LIMITED, retry_after=asked), Tries(failed=2), POLICY, uniform=highest
    )
    assert isinstance(verdict, GiveUp)
    assert isinstance(verdict.error, RateLimited)
    assert verdict.error.retry_after == waited


@pytest.mark.parametrize(("failures", "ceiling"), [(1, 1.0), (2, 2.0), (3, 4.0), (4, 8.0), (9, 8.0)])
def test_the_wait_lies_between_the_base_and_a_doubling_ceiling(failures: int, ceiling: float) -> None:
    assert backoff(failures, POLICY, uniform=lowest) == 0.5
    assert backoff(failures, POLICY, uniform=highest) == ceiling


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "2"}, 2.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after": "Thu, 01 Jan 1970 00:02:00 GMT"}, 20.0),
        ({"retry-after": "Thu, 01 Jan 1970 00:00:00 GMT"}, 0.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-5"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after-ms": "x", "retry-after": "3"}, 3.0),
    ],
)
def test_the_pause_a_server_asks_for(headers: dict[str, str], seconds: float | None) -> None:
    assert read_retry_after(headers, now=100.0) == seconds


@given(
    st.lists(
        st.builds(
            Failure,
            kind=st.sampled_from([Kind.UNAVAILABLE, Kind.CUT, Kind.IDLE, Kind.NONSENSE, Kind.RATE_LIMITED]),
            started=st.booleans(),
            retry_after=st.none() | st.floats(0, 10),
        ),
        min_size=10,
        max_size=10,
    )
)
def test_any_row_of_failures_ends_within_the_sum_of_both_budgets(failures: list[Failure]) -> None:
    tries, requests = Tries(), 0
    for failure in failures:
        requests += 1
        verdict = decide(failure, tries, POLICY, uniform=highest)
        if isinstance(verdict, GiveUp):
            break
        assert 0 <= verdict.seconds <= 10
        tries = verdict.tries
    assert requests <= POLICY.tries + POLICY.cut_tries
