"""Branches of a conversation: which of several answers and wordings is shown, and what followed each of them.

A message that is edited or answered again begins a branch. The turns of one branch are shown at a time: those of the
others have `superseded_at`, and neither the page nor the model reads them.
"""

from __future__ import annotations

import uuid
from bisect import bisect_right, insort
from collections import defaultdict
from datetime import UTC, datetime
from typing import NamedTuple

from django.db.models import Min, Q

from chat import notifications, outside_content
from chat.errors import SessionBusy
from chat.models import Branch, Message, Session, Turn
from durable.database import in_transaction

Fork = tuple[uuid.UUID | None, int]  # a branch, and the seq at which siblings stand in it
LONG_AGO = datetime.min.replace(tzinfo=UTC)


class TurnPlace(NamedTuple):
    """Where a turn stands: its branch, and the seq of its first message."""

    pk: uuid.UUID
    branch: uuid.UUID | None
    seq: int
    superseded_at: datetime | None
    queued_at: datetime

    @property
    def last_shown(self) -> tuple[bool, datetime, datetime]:
        """Order siblings by when they were shown last; the one that is shown now comes last."""
        return self.superseded_at is None, self.superseded_at or LONG_AGO, self.queued_at


class BranchTree:
    """All turns of a session that have a place, and the branches they are on."""

    def __init__(self, session_id: uuid.UUID) -> None:
        self.branches = {row.pk: row for row in Branch.objects.filter(session=session_id)}
        self.places: dict[uuid.UUID, TurnPlace] = {}
        self.families: dict[Fork, list[TurnPlace]] = defaultdict(list)
        self.lines: dict[uuid.UUID | None, list[TurnPlace]] = defaultdict(list)
        self.forks: dict[uuid.UUID | None, list[int]] = defaultdict(list)
        if self.branches:
            self._read(session_id)

    def _read(self, session_id: uuid.UUID) -> None:
        rows = Turn.objects.filter(session=session_id).annotate(first=Min("messages__seq"))
        values = rows.filter(first__isnull=False).order_by("queued_at", "id")
        for found in values.values_list("pk", "branch", "first", "superseded_at", "queued_at"):
            place = TurnPlace(*found)
            self.places[place.pk] = place
            self.families[self.fork_of(place)].append(place)
            insort(self.lines[place.branch], place, key=lambda one: one.seq)
        for branch, seq in self.families:
            insort(self.forks[branch], seq)

    def fork_of(self, place: TurnPlace) -> Fork:
        """Return where the turn stands; its siblings stand there too."""
        if place.branch is not None and place.pk == place.branch:
            return self.branches[place.pk].parent, self.branches[place.pk].from_seq
        return place.branch, place.seq

    def siblings(self, turn_id: uuid.UUID) -> list[TurnPlace]:
        """Return the turn and its siblings, oldest first; none if it has no siblings."""
        place = self.places.get(turn_id)
        family = self.families[self.fork_of(place)] if place else []
        return family if len(family) > 1 else []

    def path_through(self, turn_id: uuid.UUID) -> list[TurnPlace]:
        """Return the turns before this one, itself, and after it at each fork the sibling that was shown last."""
        place = self.places[turn_id]
        path = [*self._before(self.fork_of(place)), place]
        while following := self._next(path[-1]):
            path.append(max(following, key=lambda sibling: sibling.last_shown))
        return path

    def _before(self, fork: Fork) -> list[TurnPlace]:
        """Return the turns above a fork, from the first of the session on."""
        pieces: list[list[TurnPlace]] = []
        branch, seq = fork
        while True:
            pieces.append([place for place in self.lines[branch] if place.seq < seq])
            if branch is None:
                return [place for piece in reversed(pieces) for place in piece]
            above = self.branches[branch]
            branch, seq = above.parent, above.from_seq

    def _next(self, place: TurnPlace) -> list[TurnPlace]:
        """Return the siblings that follow a turn on its branch."""
        seqs = self.forks[place.branch]
        at = bisect_right(seqs, place.seq)
        return self.families[place.branch, seqs[at]] if at < len(seqs) else []


def leave(session: Session, turn: Turn, branch_id: uuid.UUID) -> None:
    """Begin a branch in place of a turn, which leaves the history with all that followed. Needs the session's lock."""
    seq = Message.objects.filter(turn=turn).aggregate(first=Min("seq"))["first"]
    later = Q(messages__seq__gte=seq) if seq is not None else Q(pk=turn.pk)
    shown = session.turns.filter(later | Q(messages__seq=None, queued_at__gte=turn.queued_at))
    left = list(shown.filter(superseded_at=None).values_list("pk", flat=True))
    Turn.objects.filter(pk__in=left).update(superseded_at=Turn.clock.now())
    session.refresh_from_db(fields=["summary", "summary_until", "outside_sources"])
    begun = Branch.objects.filter(pk=turn.pk).first()
    fork = (begun.parent, begun.from_seq) if begun else (turn.branch, seq)
    if fork[1] is None:  # it was stopped before it had a place, so nothing is left to come back to
        outside_content.recompute(session)
        return
    Branch.objects.create(id=branch_id, session=session, parent=fork[0], from_seq=fork[1])
    enter(session, branch_id, changed_from=fork[1])


def show(turn: Turn) -> None:
    """Show a turn and what followed it in place of its siblings; a turn that is shown stays so.

    Raises SessionBusy while a turn of the session runs or waits: it would go on with another past.
    """
    if _show(turn):
        notifications.session_changed(turn.session)


@in_transaction
def _show(turn: Turn) -> bool:
    session = Session.objects.select_for_update(no_key=True).get(pk=turn.session_id)
    if session.turns.filter(status__in=Turn.LIVE).exists():
        raise SessionBusy
    tree = BranchTree(session.pk)
    if turn.pk not in tree.places or tree.places[turn.pk].superseded_at is None:
        return False
    path = tree.path_through(turn.pk)
    shown = {place.pk for place in path}
    hidden = [one for one in tree.places.values() if one.superseded_at is None and one.pk not in shown]
    fork = min((tree.fork_of(one)[1] for one in hidden), default=0)
    back = [one.pk for one in path if one.superseded_at is not None and tree.fork_of(one)[1] >= fork]
    Turn.objects.filter(pk__in=[one.pk for one in hidden]).update(superseded_at=Turn.clock.now())
    Turn.objects.filter(pk__in=back).update(superseded_at=None)
    enter(session, path[-1].branch, changed_from=fork)
    return True


def enter(session: Session, branch: uuid.UUID | None, *, changed_from: int) -> None:
    """Make a branch the one that new turns continue; a summary of messages that are not shown any more is dropped."""
    session.branch = branch
    if changed_from < session.summary_until:
        session.summary, session.summary_until = "", 0
    session.save(update_fields=["branch", "summary", "summary_until"])
    outside_content.recompute(session)


def shown_sibling(turn: Turn) -> Turn | None:
    """Return the sibling of a turn that is shown, if it is another one."""
    if turn.superseded_at is None:
        return None
    ids = [place.pk for place in BranchTree(turn.session_id).siblings(turn.pk)]
    return Turn.objects.filter(pk__in=ids, superseded_at=None).first()


def siblings_of_message(session: Session, message_id: uuid.UUID) -> list[uuid.UUID]:
    """Return the turn that a message belongs to and its siblings."""
    turn_id = session.messages.filter(pk=message_id).values_list("turn_id", flat=True).first()
    if turn_id is None:
        return []
    return [place.pk for place in BranchTree(session.pk).siblings(turn_id)] or [turn_id]
