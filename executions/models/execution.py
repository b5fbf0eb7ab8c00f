"""Rows of executions, one per run of an agent, and of the runs of their nodes."""

from __future__ import annotations

from decimal import Decimal
from typing import Any, ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q

from durable.clock import CreatedAtField
from durable.ids import new_id
from durable.models import Job, job_indexes
from executions.models.agent import Agent
from executions.models.fields import OrderedJSON
from executions.models.status import LIVE, STARTED, TERMINAL, Status, public_status
from executions.redaction import words_in


class Execution(Job):
    """One run of one version of an agent."""

    class Source(models.TextChoices):
        """Who asked for it."""

        API = "api"
        CHAT = "chat"
        SCHEDULE = "schedule"
        TRIGGER = "trigger"
        AGENT = "agent"  # a node of another execution
        DRAFT = "draft"  # a test in the builder

    QUEUED: ClassVar[str] = Status.QUEUED
    RUNNING: ClassVar[str] = Status.RUNNING
    WAITING: ClassVar[str] = Status.WAITING
    COMPLETED: ClassVar[str] = Status.COMPLETED
    CANCELLED: ClassVar[str] = Status.TERMINATED
    FAILED: ClassVar[str] = Status.FAILED
    TERMINAL: ClassVar[frozenset[str]] = TERMINAL
    LIVE: ClassVar[tuple[str, ...]] = LIVE
    MOVES: ClassVar[dict[str, frozenset[str]]] = {  # to: from
        Status.QUEUED: frozenset({Status.INCOMPLETE, Status.TERMINATED, Status.WAITING}),
        Status.RUNNING: frozenset({Status.INCOMPLETE, Status.QUEUED, Status.TERMINATED, Status.WAITING}),
        Status.WAITING: frozenset({Status.RUNNING}),
        Status.COMPLETED: frozenset({Status.RUNNING}),
        Status.FAILED: frozenset({Status.INCOMPLETE, Status.QUEUED, Status.RUNNING, Status.WAITING}),
        Status.TERMINATED: frozenset({Status.INCOMPLETE, Status.QUEUED, Status.RUNNING, Status.WAITING}),
    }
    task_name = "executions.run_execution"
    queue = "executions"

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="executions")
    agent = models.ForeignKey(Agent, on_delete=models.CASCADE, related_name="executions")
    version = models.PositiveIntegerField()
    inputs = OrderedJSON(default=dict)
    secret_inputs = models.JSONField(default=list, help_text="Names of inputs whose values are never shown.")
    node_inputs = OrderedJSON(
        default=dict,
        help_text="Values for single nodes, by node id and pin, from a trigger or a parent.",
    )
    outputs = OrderedJSON(default=dict, help_text="Values in order, by name of the output.")
    source = models.CharField(max_length=16, choices=Source.choices, default=Source.API)
    client_id = models.CharField(
        max_length=255,
        null=True,
        blank=True,
        help_text="Idempotency key: the same key again is the same execution.",
    )
    parent = models.ForeignKey(
        "NodeExecution", on_delete=models.CASCADE, null=True, blank=True, related_name="children"
    )
    depth = models.PositiveSmallIntegerField(default=0, help_text="Number of agents it is nested in.")
    permissions = models.JSONField(
        default=dict, help_text="Blocks allowed and denied by the session it was started from."
    )
    safe_mode = models.BooleanField(default=True, help_text="Sensitive blocks need the approval of a person.")
    session_id = models.UUIDField(null=True, blank=True, help_text="The session it was started from.")
    tell_session = models.BooleanField(default=False, help_text="Whether its end is reported to the session.")
    outside_sources = models.JSONField(
        default=list,
        db_default=[],
        blank=True,
        help_text="Outside content that may have caused it: effects that leave the site then need approval.",
    )
    cost = models.DecimalField(max_digits=14, decimal_places=6, default=Decimal(0))
    wakes = models.PositiveIntegerField(
        default=0, help_text="Number of wake-ups: what it waits for may have happened."
    )
    asks_person = models.BooleanField(
        default=False,
        db_default=False,
        help_text="While it waits: a person must decide before it goes on, here or in a sub-agent.",
    )
    worked_seconds = models.FloatField(
        default=0.0, help_text="Seconds that workers have spent on it; limited."
    )
    graph = OrderedJSON(
        null=True, default=None, help_text="The draft that is tested; null: the graph of the version."
    )
    pinned = OrderedJSON(
        null=True, default=None, help_text="Outputs by node id that are used instead of running the node."
    )
    retry_of = models.ForeignKey(
        "self",
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        related_name="retries",
        help_text="The execution whose finished runs it took over.",
    )

    class Meta(Job.Meta):
        abstract = False
        constraints = [
            models.UniqueConstraint(fields=["user", "client_id"], name="executions_one_per_client_id"),
        ]
        indexes = [
            *job_indexes(LIVE),
            models.Index(fields=["user", "-queued_at"], name="executions_execution_recent"),
            models.Index(fields=["agent", "-queued_at"], name="executions_execution_agent"),
            models.Index(
                fields=["user", "agent"],
                condition=Q(status__in=STARTED),
                name="executions_execution_room",
            ),
            models.Index(
                fields=["user", "agent", "queued_at"],
                condition=Q(status="QUEUED"),
                name="executions_execution_line",
            ),
            models.Index(fields=["user"], condition=Q(status__in=LIVE), name="executions_live_of_user"),
            models.Index(
                fields=["session_id"], condition=Q(status__in=LIVE), name="executions_live_of_session"
            ),
        ]

    @property
    def secrets(self) -> frozenset[str]:
        """Return the values of secret inputs, to be redacted from everything that is shown of this run."""
        return frozenset(word for name in self.secret_inputs for word in words_in(self.inputs.get(name)))

    @property
    def public_status(self) -> str:
        return public_status(self.status, asks_person=self.asks_person)

    def log_context(self) -> dict[str, Any]:
        return super().log_context() | {"agent_id": str(self.agent_id)}


class NodeExecution(models.Model):
    """One run of one node; committed before its outputs are used, so that what finished is not run again."""

    class WaitsFor(models.TextChoices):
        """What a suspended run waits for, without a worker."""

        REVIEW = "review"  # a person's decision
        TIME = "time"  # `wake_at`
        JOB = "job"  # the end of another execution, or of a turn

    id = models.UUIDField(
        primary_key=True,
        default=new_id,
        editable=False,
        help_text="Derived from execution, node and run: the idempotency key of its effects.",
    )
    execution = models.ForeignKey(Execution, on_delete=models.CASCADE, related_name="nodes")
    node_id = models.CharField(max_length=200)
    block_id = models.CharField(max_length=200)
    run = models.PositiveIntegerField(
        null=True, help_text="Ordinal of this run among the node's runs; null for tool calls."
    )
    caller = models.ForeignKey(
        "self",
        on_delete=models.CASCADE,
        null=True,
        blank=True,
        related_name="called",
        help_text="The run of the orchestrator that called this node as a tool.",
    )
    seq = models.PositiveIntegerField(
        null=True, blank=True, help_text="Number in the order of ends, in which a takeover replays outputs."
    )
    early = models.JSONField(
        default=list,
        help_text="Outputs passed on before the end: pairs of a number in the same order and an output count.",
    )
    status = models.CharField(max_length=16, choices=Status.choices)
    inputs = OrderedJSON(default=dict)
    outputs = OrderedJSON(default=list, help_text="Pairs of pin and value in the order emitted.")
    error = models.TextField(blank=True, default="")
    attempt = models.PositiveIntegerField(default=0, help_text="The attempt of the execution that ran it.")
    progress = models.FloatField(default=0.0)
    cost = models.DecimalField(max_digits=14, decimal_places=6, default=Decimal(0))
    waits_for = models.CharField(max_length=8, choices=WaitsFor.choices, blank=True, default="")
    wake_at = models.DateTimeField(
        null=True, blank=True, help_text="When a run that waits for a time goes on."
    )
    queued_at = CreatedAtField()
    started_at = models.DateTimeField(null=True, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["execution", "node_id", "run"], name="executions_one_row_per_node_run"
            )
        ]
        indexes = [models.Index(fields=["execution", "seq"], name="executions_node_order")]

    @property
    def public_status(self) -> str:
        return public_status(self.status, asks_person=self.waits_for == self.WaitsFor.REVIEW)

    def __str__(self) -> str:
        return f"{self.node_id} run {self.run} of {self.execution_id}"
