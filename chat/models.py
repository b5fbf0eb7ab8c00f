"""Conversations: sessions, their messages, the turns that answer them, and the steps of a turn."""

from __future__ import annotations

import uuid
from decimal import Decimal
from typing import Any, ClassVar

from django.conf import settings
from django.db import connection, models, transaction
from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce

from accounts.models import User
from chat import announcing, closing, fold, news, waits
from chat.signals import turn_ended
from chat.waits import TurnWait
from durable import log
from durable.clock import CreatedAtField
from durable.ids import new_id
from durable.lease import Lease
from durable.models import Cause, Job
from durable.poke import poke


class Session(models.Model):
    """One conversation; it belongs to a user, or to a visitor without an account."""

    class TitledBy(models.TextChoices):
        NOBODY = ""
        MODEL = "model"
        USER = "user"

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.CASCADE,
        null=True,
        blank=True,
        related_name="chat_sessions",
    )
    visitor_id = models.UUIDField(null=True, blank=True, db_index=True)
    client_key = models.CharField(
        max_length=64, null=True, blank=True, help_text="The id a client chose, where it is not a UUID."
    )
    title = models.CharField(max_length=200, blank=True, default="")
    titled_by = models.CharField(max_length=8, choices=TitledBy.choices, default=TitledBy.NOBODY, blank=True)
    pinned = models.BooleanField(default=False)
    parent = models.ForeignKey(
        "self", on_delete=models.SET_NULL, null=True, blank=True, related_name="children"
    )
    depth = models.PositiveSmallIntegerField(default=0)
    permissions = models.JSONField(default=dict)
    summary = models.TextField(
        blank=True, default="", help_text="The older part of the conversation, for the model."
    )
    summary_until = models.PositiveIntegerField(
        default=0, help_text="Messages before this place are in the summary."
    )
    outside_sources = models.JSONField(
        default=list,
        db_default=[],
        blank=True,
        help_text="Where content from outside came from that the model may have before it.",
    )
    next_seq = models.PositiveIntegerField(default=0)
    created_at = CreatedAtField()
    active_at = CreatedAtField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["user", "client_key"], name="chat_one_session_per_user_key"),
            models.UniqueConstraint(
                fields=["visitor_id", "client_key"], name="chat_one_session_per_visitor_key"
            ),
        ]
        indexes = [models.Index(fields=["user", "-active_at"], name="chat_session_recent")]

    def __str__(self) -> str:
        return self.title or f"Session {self.pk}"

    @property
    def owner(self) -> str:
        """Who hears about this session."""
        return f"user:{self.user_id}" if self.user_id else f"visitor:{self.visitor_id}"

    def take_places(self, count: int) -> int:
        """Reserve consecutive places for messages and return the first; no two callers get the same one.

        The UPDATE keeps the session's row locked until the surrounding transaction ends. One statement where
        this instance was read under that lock, as a claim does.
        """
        own, first = Session.objects.filter(pk=self.pk), self.next_seq
        if own.filter(next_seq=first).update(next_seq=first + count):
            self.next_seq = first + count
            return first
        with transaction.atomic(savepoint=False):
            own.update(next_seq=F("next_seq") + count)
            self.next_seq = own.values_list("next_seq", flat=True).get()
            return self.next_seq - count


class Message(models.Model):
    """What a person wrote, or what one turn answered. Its place is taken when its turn starts."""

    class Role(models.TextChoices):
        USER = "user"
        ASSISTANT = "assistant"

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    session = models.ForeignKey(Session, on_delete=models.CASCADE, related_name="messages")
    turn = models.ForeignKey("Turn", on_delete=models.CASCADE, null=True, related_name="messages")
    role = models.CharField(max_length=10, choices=Role.choices)
    seq = models.PositiveIntegerField(null=True, blank=True)
    text = models.TextField(blank=True, default="")
    attachments = models.JSONField(default=list, help_text="Ids of workspace files.")
    context = models.JSONField(null=True, blank=True, help_text="The page the person was looking at.")
    steered_step = models.PositiveIntegerField(
        null=True, blank=True, help_text="Put before the model at this step."
    )
    created_at = CreatedAtField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["session", "seq"], name="chat_one_message_per_place")]
        indexes = [models.Index(fields=["session", "created_at"], name="chat_message_order")]

    def __str__(self) -> str:
        return f"{self.role} message {self.pk}"


class Turn(Job):
    """One answer to one input."""

    class Mode(models.TextChoices):
        """What to do when a turn of the session is running already."""

        QUEUE = "queue"  # run after it, in order
        STEER = "steer"  # put before the model at the next step of the running turn
        INTERRUPT = "interrupt"  # cancel the running turn, then run
        REJECT = "reject"  # refuse the input

    class Kind(models.TextChoices):
        MESSAGE = "message"  # a person wrote
        CONTINUATION = "continuation"  # long work came back

    class EndReason(models.TextChoices):
        DONE = "done"
        STEERED = "steered"  # became part of the turn that was running
        CANCELLED = "cancelled"
        BUDGET = "budget"
        TOO_MANY_STEPS = "too_many_steps"
        MODEL_ERROR = "model_error"
        MODEL_REFUSED = "model_refused"
        WORKER_LOST = "worker_lost"
        TIMED_OUT = "timed_out"
        IDLE = "idle"
        INTERNAL_ERROR = "internal_error"
        OPERATOR = "operator"  # ended by hand in the admin

    COMPLETED: ClassVar[str] = "completed"
    ACTIVE: ClassVar[tuple[str, str]] = (Job.RUNNING, Job.WAITING)
    reads_with = ("session", "session__user")
    task_name = "chat.run_turn"
    queue = "turns"

    session = models.ForeignKey(Session, on_delete=models.CASCADE, related_name="turns")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, null=True, related_name="+")
    kind = models.CharField(max_length=16, choices=Kind.choices, default=Kind.MESSAGE)
    note = models.TextField(
        blank=True, default="", help_text="What the model is told beside the input, or instead of one."
    )
    mode = models.CharField(max_length=16, choices=Mode.choices, default=Mode.QUEUE)
    priority = models.PositiveSmallIntegerField(default=0, help_text="An interrupting input goes first.")
    client_id = models.CharField(max_length=128, null=True, blank=True)
    answer_id = models.UUIDField(
        default=new_id, help_text="Id of the assistant message, the same in stream and database."
    )
    model_name = models.CharField(max_length=128, blank=True, default="")
    input_tokens = models.PositiveIntegerField(default=0)
    output_tokens = models.PositiveIntegerField(default=0)
    cached_tokens = models.PositiveIntegerField(default=0)
    reasoning_tokens = models.PositiveIntegerField(default=0)
    cost = models.DecimalField(max_digits=14, decimal_places=6, default=Decimal(0))
    files_seen = models.JSONField(default=list)
    outside_sources = models.JSONField(
        default=list,
        db_default=[],
        blank=True,
        help_text="Where the content from outside came from that this turn began with or has read.",
    )
    model_failures = models.JSONField(
        default=list, editable=False, help_text="Requests to the model that failed: when, where, how."
    )
    first_word_at = models.DateTimeField(null=True, blank=True, help_text="When the answer began to show.")
    permissions = models.JSONField(
        null=True, blank=True, help_text="What this turn may use, where that is less than its session may."
    )
    tell_session = models.ForeignKey(
        Session,
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        related_name="+",
        help_text="The conversation that wants to hear of its end.",
    )
    tell_call = models.CharField(
        max_length=255, blank=True, default="", help_text="The call there whose answer is then put right."
    )
    told_at = models.DateTimeField(null=True, blank=True)
    execution_id = models.UUIDField(
        null=True, blank=True, db_index=True, help_text="The execution that waits for its end."
    )
    absorbed_by = models.ForeignKey("self", on_delete=models.SET_NULL, null=True, related_name="absorbed")
    interrupts = models.ForeignKey(
        "self",
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        related_name="+",
        help_text="The turn that stops for this one.",
    )
    superseded_at = models.DateTimeField(
        null=True, blank=True, help_text="Answered anew: no longer part of the history."
    )
    replaced_by = models.ForeignKey(
        "self",
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        related_name="replaces",
        help_text="The newest answer to the same input.",
    )

    class Meta(Job.Meta):
        abstract = False
        constraints = [
            models.UniqueConstraint(
                fields=["session"],
                condition=Q(status__in=["running", "waiting"]),
                name="chat_one_active_turn",
            ),
            models.UniqueConstraint(fields=["session", "client_id"], name="chat_one_turn_per_client_id"),
        ]
        indexes = [
            *Job.Meta.indexes,
            models.Index(fields=["session", "queued_at"], name="chat_turn_of_session"),
            models.Index(fields=["queued_at"], name="chat_turn_recent"),
            models.Index(
                fields=["user", "status"], condition=Q(status__in=Job.LIVE), name="chat_turn_live_of_user"
            ),
            models.Index(
                fields=["session", "status"],
                condition=Q(status__in=Job.LIVE),
                name="chat_turn_live_of_session",
            ),
            models.Index(
                fields=["session"],
                condition=Q(tell_session__isnull=False, told_at=None),
                name="chat_turn_to_be_told",
            ),
            models.Index(
                fields=["session"], condition=Q(execution_id__isnull=False), name="chat_turn_for_execution"
            ),
        ]

    def log_context(self) -> dict[str, Any]:
        return super().log_context() | {"session_id": str(self.session_id)}

    def on_behalf_of(self) -> str:
        return super().on_behalf_of() or self.session.owner

    @property
    def joins_trace(self) -> bool:
        """One trace a turn: what long work brought about is a turn of its own."""
        return self.kind != self.Kind.CONTINUATION

    # --- who may start ----------------------------------------------------------------------------

    @classmethod
    def admit(cls, job_id: uuid.UUID) -> bool:
        """A queued turn starts when it is the head of its session and its user has room. Holds their rows.

        The session's before the turn's, as whoever writes an input does: in the other order the two would each
        wait for what the other one has.
        """
        needed = ("status", "user_id", "session__user_id", "session__visitor_id")
        held = cls.objects.select_related("session").select_for_update(of=("session",), no_key=True)
        turn = held.only(*needed).filter(pk=job_id).first()
        if turn is None:
            return False  # removed from the queue meanwhile
        if turn.status != cls.QUEUED:
            return True
        if turn.user_id and connection.features.has_select_for_update:
            User.objects.select_for_update(no_key=True).only("pk").get(pk=turn.user_id)
        return job_id in cls.next_up(turn.session)

    @classmethod
    def lock_before(cls, job_id: uuid.UUID) -> None:
        """Lock the session, as a claim does before it locks the turn."""
        session = Session.objects.select_for_update(of=("self",), no_key=True).filter(turns=job_id)
        session.values_list("pk", flat=True).first()

    @classmethod
    def next_up(cls, session: Session) -> list[uuid.UUID]:
        """The queued turns of the session's owner that may start now, in the order they came."""
        live = cls.of_owner(session).filter(status__in=cls.LIVE).order_by("-priority", "queued_at", "id")
        rows = list(live.values_list("pk", "session_id", "status", Exists(waits_of("pk"))))
        taken = {session_id for _, session_id, status, _ in rows if status in cls.ACTIVE}
        room = settings.COPILOT_MAX_RUNNING_TURNS_PER_USER - sum(
            status == cls.RUNNING and not waits for _, _, status, waits in rows
        )
        heads = []
        for pk, session_id, status, _ in rows:
            if status == cls.QUEUED and session_id not in taken:
                heads.append(pk)
                taken.add(session_id)
        return heads[: max(room, 0)]

    @classmethod
    def of_owner(cls, session: Session) -> QuerySet[Turn]:
        if session.user_id:
            return cls.objects.filter(user_id=session.user_id)
        return cls.objects.filter(session__visitor_id=session.visitor_id, user=None)

    @classmethod
    def startable(cls, queued: QuerySet[Any]) -> QuerySet[Any]:
        """Leave turns in peace that wait behind another of their session, or whose user has no room."""
        same_session = cls.live().filter(session=OuterRef("session")).exclude(pk=OuterRef("pk"))
        earlier = Q(priority=OuterRef("priority"), queued_at__lt=OuterRef("queued_at"))
        goes_first = Q(status=cls.QUEUED) & (Q(priority__gt=OuterRef("priority")) | earlier)
        ahead = Q(status__in=cls.ACTIVE) | goes_first
        running = cls.live().filter(~Exists(waits_of("pk")), user=OuterRef("user"), status=cls.RUNNING)
        count = Subquery(running.order_by().values("user").annotate(n=Count("pk")).values("n"))
        counted: QuerySet[Any] = queued.annotate(running_of_user=Coalesce(count, 0))
        return counted.filter(
            ~Exists(same_session.filter(ahead)),
            running_of_user__lt=settings.COPILOT_MAX_RUNNING_TURNS_PER_USER,
        )

    # --- hooks of the job -------------------------------------------------------------------------

    def claimed(self, lease: Lease) -> None:
        """Write the attempt down and open its log: with `start` once per turn, else with where it goes on."""
        closing.open_attempt(self, lease)

    def ended_unowned(self) -> None:
        """No attempt could write the end: keep what it had shown, and close the log."""
        closing.close_unowned(self)

    def ended(self) -> None:
        """What belongs to the end: turns it waited for stop with it, and those who want to know are told."""
        waits.stop_awaited(self)
        announcing.announce_end(self)
        turn_ended.send(sender=type(self), turn=self)

    def after_end(self) -> None:
        news.turn_changed(self)
        for turn_id in self.next_up(self.session):
            poke(Turn, turn_id)

    def last_event(self) -> str:
        return str(log.last_stored(self.pk))


def waits_of(turn: str) -> QuerySet[TurnWait]:
    """The waits of the turn that a query around this one calls by that name."""
    return TurnWait.objects.filter(turn=OuterRef(turn))


class Attempt(models.Model):
    """One claim of a turn: who ran it, and from which step on."""

    turn = models.ForeignKey(Turn, on_delete=models.CASCADE, related_name="attempts")
    number = models.PositiveIntegerField()
    owner = models.CharField(max_length=128)
    first_step = models.PositiveIntegerField()
    cause = models.CharField(max_length=16, choices=Cause.choices, default=Cause.QUEUED)
    started_at = CreatedAtField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["turn", "number"], name="chat_one_row_per_attempt")]
        indexes = [models.Index(fields=["started_at"], name="chat_attempt_start")]

    def __str__(self) -> str:
        return f"attempt {self.number} of {self.turn_id}"


class Step(models.Model):
    """One model round of a turn, committed before its tools start; `parts` are in the order they were shown."""

    turn = models.ForeignKey(Turn, on_delete=models.CASCADE, related_name="steps")
    number = models.PositiveIntegerField()
    attempt = models.PositiveIntegerField()
    parts = models.JSONField(default=list)
    whole = models.BooleanField(
        default=True, help_text="False: the answer was cut off by a cancel or a failure."
    )
    finish_reason = models.CharField(max_length=32, blank=True, default="")
    model_name = models.CharField(max_length=128, blank=True, default="")
    carry = models.TextField(
        blank=True,
        default="",
        db_default="",
        editable=False,
        help_text="What the model wants back with this answer (see llm.carry); shown to nobody.",
    )
    input_tokens = models.PositiveIntegerField(default=0)
    output_tokens = models.PositiveIntegerField(default=0)
    cost = models.DecimalField(max_digits=14, decimal_places=6, default=Decimal(0))
    created_at = CreatedAtField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["turn", "number"], name="chat_one_row_per_step")]
        ordering = ["number"]

    def __str__(self) -> str:
        return f"step {self.number} of {self.turn_id}"

    @property
    def text(self) -> str:
        return fold.text_of(self.parts)
