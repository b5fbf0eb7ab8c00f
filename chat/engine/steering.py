"""Messages sent to steer a running turn: taken in before its next step, as part of the same conversation."""

from __future__ import annotations

from chat import announcing, closing, news
from chat.models import Message, Turn
from durable import log
from durable.lease import Lease


def take_in(turn: Turn, lease: Lease, step: int) -> bool:
    """Make queued steering messages part of this turn, before `step`; False when there are none.

    Once: a message taken in is no longer queued.
    """
    steers = turn.session.turns.filter(status__in=Turn.LIVE).filter(status=Turn.QUEUED, mode=Turn.Mode.STEER)
    if not steers.exists():
        return False  # asked before every step
    waiting = list(steers.order_by("queued_at"))

    def take() -> None:
        for other in waiting:
            absorb(other, turn, step)

    lease.commit(take, lock_before=True)
    for other in waiting:
        log.nudge(other.pk)
        if other.is_terminal:
            news.turn_changed(other)
    return True


def absorb(other: Turn, into: Turn, step: int) -> None:
    now = Turn.clock.now()
    ended = {
        "status": Turn.COMPLETED,
        "end_reason": Turn.EndReason.STEERED,
        "ended_at": now,
        "absorbed_by": into,
    }
    if not Turn.objects.filter(pk=other.pk, status=Turn.QUEUED).update(**ended):
        return  # removed or cancelled meanwhile
    place = into.session.take_places(1)
    Message.objects.filter(turn=other, role=Message.Role.USER).update(turn=into, steered_step=step, seq=place)
    other.refresh_from_db()
    closing.close_absorbed(other, into)
    announcing.announce_end(other)
