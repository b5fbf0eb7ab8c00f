"""Conversations: sessions, their messages, the turns that answer them, and the steps of a turn."""

from __future__ import annotations

from decimal import Decimal
from typing import Any, ClassVar

from django.conf import settings
from django.db import models, transaction
from django.db.models import F, Q

from chat import protocol
from durable.clock import CreatedAtField
from durable.ids import new_id
from durable.models import Cause, Job


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
        max_length=64, null=True, blank=True, help_text="The id a client chose, if it is not a UUID."
    )
    title = models.CharField(max_length=200, blank=True, default="")
    titled_by = models.CharField(max_length=8, choices=TitledBy.choices, default=TitledBy.NOBODY, blank=True)
    pinned = models.BooleanField(default=False)
    parent = models.ForeignKey(
        "self", on_delete=models.SET_NULL, null=True, blank=True, related_name="children"
    )
    depth = models.PositiveSmallIntegerField(default=0)
    permissions = models.JSONField(default=dict)
    model = models.CharField(
        max_length=128,
        blank=True,
        default="",
        db_default="",
        help_text="The model picked for this conversation; empty means the person's default.",
    )
    summary = models.TextField(
        blank=True, default="", help_text="The older part of the conversation, for the model."
    )
    summary_until = models.PositiveIntegerField(
        default=0, help_text="Messages with a lower seq are in the summary."
    )
    outside_sources = models.JSONField(
        default=list,
        db_default=[],
        blank=True,
        help_text="Where content from outside came from that the model may have before it.",
    )
    next_seq = models.PositiveIntegerField(default=0)
    branch = models.UUIDField(
        null=True, blank=True, editable=False, help_text="The branch that is shown; null is the first one."
    )
    forked_from = models.ForeignKey(
        "self",
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        related_name="forks",
        help_text="The conversation that this one was copied from.",
    )
    expires_at = models.DateTimeField(
        null=True,
        blank=True,
        help_text="Made for a client that keeps its own history: not listed, and deleted then.",
    )
    given_history = models.JSONField(
        null=True,
        blank=True,
        help_text="What a client says was said before the first message, in the format of chat completions.",
    )
    history_hash = models.CharField(
        max_length=64,
        blank=True,
        default="",
        db_default="",
        editable=False,
        help_text="Hash of all inputs so far, by which a client that repeats them is recognised.",
    )
    created_at = CreatedAtField()
    active_at = CreatedAtField()
    read_at = CreatedAtField(
        null=True, help_text="When a page of its person last showed its end; null for those made long ago."
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["user", "client_key"], name="chat_one_session_per_user_key"),
            models.UniqueConstraint(
                fields=["visitor_id", "client_key"], name="chat_one_session_per_visitor_key"
            ),
        ]
        indexes = [
            models.Index(fields=["user", "-active_at"], name="chat_session_recent"),
            models.Index(
                fields=["user", "history_hash"], condition=~Q(history_hash=""), name="chat_session_history"
            ),
            models.Index(
                fields=["expires_at"], condition=Q(expires_at__isnull=False), name="chat_session_expiry"
            ),
        ]

    def __str__(self) -> str:
        return self.title or f"Session {self.pk}"

    @property
    def owner(self) -> str:
        """Name of the user or visitor, by which their devices are addressed."""
        return f"user:{self.user_id}" if self.user_id else f"visitor:{self.visitor_id}"

    def reserve_seqs(self, count: int) -> int:
        """Reserve consecutive message numbers (`seq`) and return the first; no two callers get the same one.

        The UPDATE keeps the session's row locked until the surrounding transaction ends. It takes one statement
        if this instance was read under that lock, as in a claim.
        """
        own, first = Session.objects.filter(pk=self.pk), self.next_seq
        if own.filter(next_seq=first).update(next_seq=first + count):
            self.next_seq = first + count
            return first
        with transaction.atomic(savepoint=False):
            own.update(next_seq=F("next_seq") + count)
            self.next_seq = own.values_list("next_seq", flat=True).get()
            return self.next_seq - count


class Branch(models.Model):
    """A line of turns that left another one where a message was edited or answered again.

    Its id is that of the turn that began it. The line before it is that of `parent`, up to but without `from_seq`;
    turns without a branch are the first line of their session.
    """

    id = models.UUIDField(primary_key=True, editable=False)
    session = models.ForeignKey(Session, on_delete=models.CASCADE, related_name="branches")
    parent = models.UUIDField(null=True, blank=True)
    from_seq = models.PositiveIntegerField(help_text="The seq of the first message that it replaces.")
    created_at = CreatedAtField()

    def __str__(self) -> str:
        return f"branch {self.pk}"


class Message(models.Model):
    """A person's message, or the answer of one turn.

    Its `seq` is assigned when its turn starts, or already when it is accepted if no other turn of the session is live.
    """

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
        null=True, blank=True, help_text="The step before which the model was given this steering message."
    )
    created_at = CreatedAtField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["session", "seq"], name="chat_one_message_per_place")]
        indexes = [models.Index(fields=["session", "created_at"], name="chat_message_order")]

    def __str__(self) -> str:
        return f"{self.role} message {self.pk}"

    @staticmethod
    def is_in_history() -> Q:
        """Return the condition for messages of turns that have started and were not superseded."""
        return Q(seq__isnull=False, turn__superseded_at=None) & ~Q(turn__status=Job.QUEUED)

    @staticmethod
    def is_in_other_branch() -> Q:
        """Return the condition for messages that have other versions, which are shown in their place."""
        return Q(seq__isnull=False, turn__superseded_at__isnull=False)


class Turn(Job):
    """One answer to one input."""

    class Mode(models.TextChoices):
        """What to do if a turn of the session is running."""

        QUEUE = "queue"  # run after it, in order
        STEER = "steer"  # give it to the model before the next step of the running turn
        INTERRUPT = "interrupt"  # cancel the running turn, then run
        REJECT = "reject"  # refuse the input

    class Kind(models.TextChoices):
        MESSAGE = "message"  # a person wrote
        CONTINUATION = "continuation"  # long work has ended

    class EndReason(models.TextChoices):
        DONE = "done"
        LENGTH = "length"  # complete for us; the model had reached the length it may write
        STEERED = "steered"  # absorbed by the turn that was running
        CANCELLED = "cancelled"
        BUDGET = "budget"
        TOO_MANY_STEPS = "too_many_steps"
        MODEL_ERROR = "model_error"
        MODEL_REFUSED = "model_refused"
        WORKER_LOST = "worker_lost"
        TIMED_OUT = "timed_out"
        IDLE = "idle"
        INTERNAL_ERROR = "internal_error"
        OPERATOR = "operator"  # ended in the admin

    COMPLETED: ClassVar[str] = "completed"
    ACTIVE: ClassVar[tuple[str, str]] = (Job.RUNNING, Job.WAITING)
    reads_with = (
        "session",
        "session__user",
        "session__user__budget",
        "session__user__understanding",
    )
    may_have_waits = True  # False if the attempt that ends it knows that no tool has waited
    has_steers = True  # False if the claim saw that no steering message waits
    task_name = "chat.run_turn"
    queue = "turns"

    session = models.ForeignKey(Session, on_delete=models.CASCADE, related_name="turns")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, null=True, related_name="+")
    kind = models.CharField(max_length=16, choices=Kind.choices, default=Kind.MESSAGE)
    note = models.TextField(
        blank=True, default="", help_text="Text for the model in addition to the input, or instead of one."
    )
    mode = models.CharField(max_length=16, choices=Mode.choices, default=Mode.QUEUE)
    priority = models.PositiveSmallIntegerField(
        default=0, help_text="Higher goes first; interrupting inputs have 1."
    )
    client_id = models.CharField(max_length=128, null=True, blank=True)
    answer_id = models.UUIDField(
        default=new_id, help_text="Id of the assistant message, in the stream and in the database."
    )
    asked_model = models.CharField(
        max_length=128,
        blank=True,
        default="",
        db_default="",
        help_text="The model picked for this turn; empty means the site's default.",
    )
    model_name = models.CharField(
        max_length=128, blank=True, default="", help_text="The model that answered, perhaps a fallback."
    )
    input_tokens = models.PositiveIntegerField(default=0)
    output_tokens = models.PositiveIntegerField(default=0)
    cached_tokens = models.PositiveIntegerField(default=0)
    reasoning_tokens = models.PositiveIntegerField(default=0)
    cost = models.DecimalField(max_digits=14, decimal_places=6, default=Decimal(0))
    files_seen = models.JSONField(default=list)
    sources = models.JSONField(
        default=list, db_default=[], help_text="Pages on the web that its tools read or found."
    )
    files_made = models.JSONField(default=list, db_default=[], help_text="Files that its tools made.")
    outside_sources = models.JSONField(
        default=list,
        db_default=[],
        blank=True,
        help_text="Sources of the outside content that this turn started with or has read.",
    )
    model_failures = models.JSONField(default=list, editable=False, help_text="Failed requests to the model.")
    first_word_at = models.DateTimeField(
        null=True, blank=True, help_text="When the first text of the answer came."
    )
    permissions = models.JSONField(
        null=True, blank=True, help_text="Permissions of this turn, if they are narrower than its session's."
    )
    tell_session = models.ForeignKey(
        Session,
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        related_name="+",
        help_text="The session to call back when the task is over.",
    )
    tell_call = models.CharField(
        max_length=255, blank=True, default="", help_text="The tool call there whose result is then updated."
    )
    told_at = models.DateTimeField(null=True, blank=True)
    execution_id = models.UUIDField(
        null=True, blank=True, db_index=True, help_text="The execution that waits for this turn."
    )
    options = models.JSONField(
        null=True,
        blank=True,
        help_text="What a client of the API asked for beside its message: tools, format, instructions.",
    )
    request_key = models.CharField(
        max_length=64, null=True, blank=True, editable=False, help_text="Identifies a repeated request."
    )
    api_key = models.ForeignKey(
        "accounts.ApiKey",
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        related_name="+",
        help_text="The key that a client of /v1 asked with; its budget counts these turns.",
    )
    absorbed_by = models.ForeignKey("self", on_delete=models.SET_NULL, null=True, related_name="absorbed")
    interrupts = models.ForeignKey(
        "self",
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        related_name="+",
        help_text="The turn that is stopped for this one.",
    )
    branch = models.UUIDField(
        null=True, blank=True, editable=False, help_text="The branch it belongs to; null is the first one."
    )
    superseded_at = models.DateTimeField(
        null=True, blank=True, help_text="Since when another branch is shown: not part of the history now."
    )
    replaced_by = models.ForeignKey(
        "self",
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        related_name="replaces",
        help_text="The newest turn for the same input.",
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
            models.UniqueConstraint(fields=["user", "request_key"], name="chat_one_turn_per_request"),
        ]
        indexes = [
            *Job.Meta.indexes,
            models.Index(fields=["session", "queued_at"], name="chat_turn_of_session"),
            models.Index(fields=["queued_at"], name="chat_turn_recent"),
            models.Index(
                fields=["session"], condition=Q(superseded_at__isnull=False), name="chat_turn_superseded"
            ),
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
            models.Index(
                fields=["api_key", "queued_at"],
                condition=Q(api_key__isnull=False),
                name="chat_turn_of_api_key",
            ),
        ]

    def log_context(self) -> dict[str, Any]:
        return super().log_context() | {"session_id": str(self.session_id)}

    def on_behalf_of(self) -> str:
        return self.session.owner

    @property
    def joins_trace(self) -> bool:
        """Whether it continues its parent's trace; a continuation turn starts its own."""
        return self.kind != self.Kind.CONTINUATION


class TurnWait(models.Model):
    """A tool call that only waits. The row survives a crash, so that the end of the turn can stop what it waits for."""

    key = models.CharField(max_length=255, unique=True, help_text="Key of the tool call.")
    turn = models.ForeignKey(Turn, on_delete=models.CASCADE, related_name="waits")
    attempt = models.PositiveIntegerField(help_text="The attempt of the turn that waits.")
    job_id = models.UUIDField(null=True, blank=True, help_text="The turn it waits for.")

    def __str__(self) -> str:
        return f"wait {self.key}"


class Attempt(models.Model):
    """One claim of a turn: which worker ran it, from which step on."""

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
    """One model answer of a turn, committed before its tools run; `parts` are in the order they were shown."""

    turn = models.ForeignKey(Turn, on_delete=models.CASCADE, related_name="steps")
    number = models.PositiveIntegerField()
    attempt = models.PositiveIntegerField()
    parts = models.JSONField(default=list)
    whole = models.BooleanField(
        default=True, help_text="False if the answer was cut off by a cancellation or a failure."
    )
    finish_reason = models.CharField(max_length=32, blank=True, default="")
    model_name = models.CharField(max_length=128, blank=True, default="")
    carry = models.TextField(
        blank=True,
        default="",
        db_default="",
        editable=False,
        help_text="What the model wants back with this answer (see llm.carry); never shown.",
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
        return protocol.text_of(self.parts)
