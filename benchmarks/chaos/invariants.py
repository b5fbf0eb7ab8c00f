"""The invariants after any fault, checked in the database, Redis, the effects and what clients received."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import redis
from django.db.models import Count

from accounts.models import LedgerEntry
from chat.models import Message, Session, Turn
from tests.harness import Reader, Stack
from tests.testtools.models import TestEffect
from tools.models import ToolCall, calls_of

EFFECT = "test_effect"
FOREIGN_EFFECT = "test_foreign_effect"
INTERRUPTED = ToolCall.State.INTERRUPTED
BROKERS_OWN = ("_kombu", "unacked", ".pidbox", ".reply.celery")


@dataclass
class Recorded:
    """One accepted message and everything its client received."""

    turn_id: uuid.UUID
    reader: Reader | None = None
    failure: str = ""


@dataclass
class Findings:
    """The violations by kind; all empty if every guarantee was kept."""

    lost: list[str] = field(default_factory=list)  # accepted, but there is no row or no answer
    doubled: list[str] = field(default_factory=list)  # a message, step, charge or effect that happened twice
    stuck: list[str] = field(default_factory=list)  # no final state
    unlike: list[str] = field(default_factory=list)  # a client received other text than the database holds
    other: list[str] = field(default_factory=list)
    failed: int = 0  # turns that ended visibly but failed

    @property
    def all(self) -> list[str]:
        return [*self.lost, *self.doubled, *self.stuck, *self.unlike, *self.other]


def check(stack: Stack, recorded: Sequence[Recorded]) -> Findings:
    """Check all invariants once nothing is running."""
    findings = Findings()
    effects = Counter(line.split("\t")[0] for line in stack.effects())
    for one in recorded:
        turn = Turn.objects.select_related("session").filter(pk=one.turn_id).first()
        if turn is None:
            findings.lost.append(f"{one.turn_id}: accepted, but there is no such turn")
        elif not turn.is_terminal:
            findings.stuck.append(
                f"{turn.pk}: still {turn.status}, attempt {turn.attempt}, owner {turn.owner!r}"
            )
        else:
            findings.failed += turn.end_reason != Turn.EndReason.DONE
            check_rows(turn, findings)
            check_effects(turn, effects, findings)
            check_view(turn, one, findings)
    check_sessions(findings)
    check_redis(stack, findings)
    return findings


def check_rows(turn: Turn, findings: Findings) -> None:
    """Check for one message each way, gapless and unique steps, a charge per step, and no write of a fenced attempt."""
    roles = Counter(turn.messages.filter(steered_step=None).values_list("role", flat=True))
    for role in Message.Role.values:
        if roles[role] != 1:
            kind = findings.doubled if roles[role] else findings.lost
            kind.append(f"{turn.pk}: {roles[role]} {role} messages")
    steps = list(turn.steps.order_by("number"))
    if [step.number for step in steps] != list(range(len(steps))):
        findings.other.append(f"{turn.pk}: steps {[step.number for step in steps]}")
    if turn.end_reason == Turn.EndReason.DONE and not steps:
        findings.lost.append(f"{turn.pk}: done without a step")
    paid = Counter(LedgerEntry.objects.filter(job_id=turn.pk, kind="model").values_list("key", flat=True))
    owed = {f"turn:{turn.pk}:step:{step.number}" for step in steps if step.whole}
    if set(paid) - owed or max(paid.values(), default=1) > 1:
        findings.doubled.append(f"{turn.pk}: charged {sorted(paid)} for {len(owed)} steps")
    elif owed - set(paid):
        findings.lost.append(f"{turn.pk}: {len(owed - set(paid))} steps were not charged")
    for attempt in turn.attempts.all():
        late = [step for step in steps if step.number >= attempt.first_step and step.attempt < attempt.number]
        if late:
            findings.other.append(
                f"{turn.pk}: attempt {late[0].attempt} wrote after attempt {attempt.number} had begun"
            )


def check_effects(turn: Turn, foreign: Counter[str], findings: Findings) -> None:
    """Check that the effect of a successful call happened once, never twice, and that doubt is reported."""
    given_up = turn.end_reason == Turn.EndReason.WORKER_LOST  # no attempt was left to look it up
    own = Counter(TestEffect.objects.filter(key__startswith=f"{turn.pk}:").values_list("key", flat=True))
    for call in calls_of(turn.pk):
        if not call.is_finished:
            findings.other.append(f"{turn.pk}: the call {call.call_id} of an ended turn is {call.state}")
        if call.name not in (EFFECT, FOREIGN_EFFECT):
            continue
        times = own[call.key] if call.name == EFFECT else foreign[call.key]
        if times > 1:
            findings.doubled.append(f"{call.key}: {call.name} happened {times} times")
        elif times == 0 and call.state == ToolCall.State.SUCCEEDED:
            findings.lost.append(f"{call.key}: {call.name} succeeded, but nothing happened")
        elif call.name == EFFECT and times and call.state == INTERRUPTED and not given_up:
            findings.other.append(
                f"{call.key}: {call.name} happened and could be looked up, but was called in doubt"
            )


def check_view(turn: Turn, one: Recorded, findings: Findings) -> None:
    """Check that the client received the text in the database, with one start and one end."""
    if one.failure:
        findings.unlike.append(f"{turn.pk}: {one.failure}")
    if one.reader is None or one.failure:
        return
    text = turn.messages.get(pk=turn.answer_id).text
    if one.reader.text != text:
        findings.unlike.append(f"{turn.pk}: shown {one.reader.text[-60:]!r}, stored {text[-60:]!r}")
    kinds = Counter(one.reader.kinds)
    if kinds["start"] != 1 or kinds["finish"] != 1:
        findings.unlike.append(f"{turn.pk}: {kinds['start']} start, {kinds['finish']} finish")


def check_sessions(findings: Findings) -> None:
    busy = Session.objects.filter(turns__status__in=Turn.ACTIVE).annotate(n=Count("turns")).filter(n__gt=1)
    for session in busy:
        active = session.turns.filter(status__in=Turn.ACTIVE).count()
        if active > 1:
            findings.other.append(f"session {session.pk}: {active} active turns")


def check_redis(stack: Stack, findings: Findings) -> None:
    """Check that every Redis key of the product expires, except for the queues and bindings of the broker."""
    client = redis.Redis(unix_socket_path=str(stack.socket), decode_responses=True)
    for key in endless(client):
        findings.other.append(f"the Redis key {key} has no time to live")


def endless(client: redis.Redis) -> Iterable[str]:
    for key in client.scan_iter(count=1000):
        if (
            client.ttl(key) == -1
            and client.type(key) != "list"
            and not any(part in key for part in BROKERS_OWN)
        ):
            yield str(key)
