from __future__ import annotations

from durable.backoff import Backoff


def test_pauses_double_up_to_the_longest() -> None:
    backoff = Backoff(0.5, 3)
    assert [backoff.next() for _ in range(5)] == [0.5, 1, 2, 3, 3]


def test_after_a_reset_the_first_pause_comes_again() -> None:
    backoff = Backoff(0.5, 3)
    for _ in range(4):
        backoff.next()
    backoff.reset()
    assert [backoff.next(), backoff.next()] == [0.5, 1]
