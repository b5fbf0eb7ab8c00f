"""Steering messages: absorbed into the running turn before its next step."""

from __future__ import annotations

from chat import notifications, turn_log
from chat.models import Message, Turn
from durable import event_log
from durable.lease import Lease


def absorb_queued(turn: Turn, lease: Lease, step: int) -> bool:
    """Absorb the session's queued steering messages before `step`; return False if there are none.

    Idempotent: an absorbed message is no longer queued.
    """
    steers = turn.session.turns.filter(status__in=Turn.LIVE).filter(status=Turn.QUEUED, mode=Turn.Mode.STEER)
    if not steers.exists():
        return False  # asked before every step
    waiting = list(steers.order_by("queued_at"))

    def absorb_all() -> None:
        for other in waiting:
            absorb(other, turn, step)

    lease.commit(absorb_all, lock_before=True)
    for other in waiting:
        event_log.nudge(other.pk)
        if other.is_terminal:
            notifications.turn_changed(other)
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
    seq = into.session.reserve_seqs(1)
    Message.objects.filter(turn=other, role=Message.Role.USER).update(turn=into, steered_step=step, seq=seq)
    Message.objects.filter(
        turn=other, role=Message.Role.ASSISTANT
    ).delete()  # of one placed before it was edited
    other.refresh_from_db()
    turn_log.close_absorbed(other, into)
    notifications.announce_end(other)
