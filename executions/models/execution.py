"""Executions: one run of an agent, and the runs of its nodes."""

from __future__ import annotations

import uuid
from decimal import Decimal
from typing import Any, ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q, QuerySet

from durable.clock import CreatedAtField
from durable.ids import new_id
from durable.models import Job
from durable.poke import poke
from durable.statuses import job_indexes, live_of
from executions import closing, line, news
from executions.models.agent import Agent
from executions.models.fields import OrderedJSON
from executions.showing import words_in


class Status(models.TextChoices):
    """Where an execution or a node execution stands; the last three are final."""

    INCOMPLETE = "INCOMPLETE"  # not all of its inputs are there
    QUEUED = "QUEUED"
    RUNNING = "RUNNING"
    REVIEW = "REVIEW"  # waits for a person, without a worker
    COMPLETED = "COMPLETED"
    FAILED = "FAILED"
    TERMINATED = "TERMINATED"


TERMINAL = frozenset({Status.COMPLETED, Status.FAILED, Status.TERMINATED})
LIVE = live_of(Status.values, TERMINAL)


class Execution(Job):
    """One run of one version of an agent."""

    class Source(models.TextChoices):
        """Who asked for it."""

        API = "api"
        CHAT = "chat"
        SCHEDULE = "schedule"
        TRIGGER = "trigger"
        AGENT = "agent"  # a node of another execution

    QUEUED: ClassVar[str] = Status.QUEUED
    RUNNING: ClassVar[str] = Status.RUNNING
    WAITING: ClassVar[str] = Status.REVIEW
    COMPLETED: ClassVar[str] = Status.COMPLETED
    CANCELLED: ClassVar[str] = Status.TERMINATED
    FAILED: ClassVar[str] = Status.FAILED
    TERMINAL: ClassVar[frozenset[str]] = TERMINAL
    LIVE: ClassVar[tuple[str, ...]] = LIVE
    MOVES: ClassVar[dict[str, frozenset[str]]] = {  # to: from
        Status.QUEUED: frozenset({Status.INCOMPLETE, Status.TERMINATED, Status.REVIEW}),
        Status.RUNNING: frozenset({Status.INCOMPLETE, Status.QUEUED, Status.TERMINATED, Status.REVIEW}),
        Status.REVIEW: frozenset({Status.RUNNING}),
        Status.COMPLETED: frozenset({Status.RUNNING}),
        Status.FAILED: frozenset({Status.INCOMPLETE, Status.QUEUED, Status.RUNNING, Status.REVIEW}),
        Status.TERMINATED: frozenset({Status.INCOMPLETE, Status.QUEUED, Status.RUNNING, Status.REVIEW}),
    }
    task_name = "executions.run_execution"
    queue = "executions"

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="executions")
    agent = models.ForeignKey(Agent, on_delete=models.CASCADE, related_name="executions")
    version = models.PositiveIntegerField()
    inputs = OrderedJSON(default=dict)
    secret_inputs = models.JSONField(default=list, help_text="Inputs whose values are shown to nobody.")
    node_inputs = OrderedJSON(
        default=dict,
        help_text="Values of single nodes, by node id and pin: what a trigger or a parent gave them.",
    )
    outputs = OrderedJSON(default=dict, help_text="Values in order, by the name of the output.")
    source = models.CharField(max_length=16, choices=Source.choices, default=Source.API)
    client_id = models.CharField(
        max_length=255, null=True, blank=True, help_text="Asked for again under the same name: the same row."
    )
    parent = models.ForeignKey(
        "NodeExecution", on_delete=models.CASCADE, null=True, blank=True, related_name="children"
    )
    depth = models.PositiveSmallIntegerField(default=0, help_text="How many agents are around it.")
    permissions = models.JSONField(
        default=dict, help_text="Blocks allowed and denied, from the session it came from."
    )
    safe_mode = models.BooleanField(default=True, help_text="Sensitive blocks ask a person first.")
    session_id = models.UUIDField(null=True, blank=True, help_text="The conversation that asked for it.")
    tell_session = models.BooleanField(default=False, help_text="The conversation wants to hear of its end.")
    outside_sources = models.JSONField(
        default=list,
        db_default=[],
        blank=True,
        help_text="Content from outside that may have asked for it: then effects that leave the site ask a person.",
    )
    cost = models.DecimalField(max_digits=14, decimal_places=6, default=Decimal(0))
    wakes = models.PositiveIntegerField(
        default=0, help_text="How often it was told that what it waits for may have happened."
    )
    worked_seconds = models.FloatField(default=0.0, help_text="Time a worker has spent on it; capped.")

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
                fields=["user", "agent"], condition=Q(status="RUNNING"), name="executions_execution_room"
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
        """What was given as a secret, to be blotted out of everything that is shown of this run."""
        return frozenset(word for name in self.secret_inputs for word in words_in(self.inputs.get(name)))

    def log_context(self) -> dict[str, Any]:
        return super().log_context() | {"agent_id": str(self.agent_id)}

    @classmethod
    def admit(cls, job_id: uuid.UUID) -> bool:
        return line.may_start(cls, job_id)

    @classmethod
    def startable(cls, queued: QuerySet[Any]) -> QuerySet[Any]:
        return line.startable(cls, queued)

    def ended_unowned(self) -> None:
        closing.close_unowned(self)

    def ended(self) -> None:
        closing.close(self)

    def after_end(self) -> None:
        """News for people, and a poke for whoever of the same user may start now."""
        news.execution_changed(self)
        for execution_id in line.next_of(self):
            poke(Execution, execution_id)


class NodeExecution(models.Model):
    """One run of one node: committed before its outputs are used, so that nothing finished runs again."""

    class WaitsFor(models.TextChoices):
        """What a run that was put aside waits for, without a worker."""

        REVIEW = "review"  # a person's decision
        TIME = "time"  # `wake_at`
        JOB = "job"  # the end of another execution, or of a turn

    id = models.UUIDField(
        primary_key=True,
        default=new_id,
        editable=False,
        help_text="Made from execution, node and run: the key of its effects.",
    )
    execution = models.ForeignKey(Execution, on_delete=models.CASCADE, related_name="nodes")
    node_id = models.CharField(max_length=200)
    block_id = models.CharField(max_length=200)
    run = models.PositiveIntegerField(
        null=True, help_text="The how-manieth run of this node in this execution; empty when it was called."
    )
    caller = models.ForeignKey(
        "self",
        on_delete=models.CASCADE,
        null=True,
        blank=True,
        related_name="called",
        help_text="The orchestrator's run that used this node as a tool.",
    )
    seq = models.PositiveIntegerField(
        null=True, blank=True, help_text="Its place in the order of ends: a takeover replays outputs in it."
    )
    early = models.JSONField(
        default=list,
        help_text="Outputs passed on before the end: pairs of a place in the same order and how many there were.",
    )
    status = models.CharField(max_length=16, choices=Status.choices)
    inputs = OrderedJSON(default=dict)
    outputs = OrderedJSON(default=list, help_text="Pairs of pin and value, in the order emitted.")
    error = models.TextField(blank=True, default="")
    attempt = models.PositiveIntegerField(default=0, help_text="The attempt of the execution that ran it.")
    progress = models.FloatField(default=0.0)
    cost = models.DecimalField(max_digits=14, decimal_places=6, default=Decimal(0))
    waits_for = models.CharField(max_length=8, choices=WaitsFor.choices, blank=True, default="")
    wake_at = models.DateTimeField(
        null=True, blank=True, help_text="A run that waits for a time goes on then."
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

    def __str__(self) -> str:
        return f"{self.node_id} run {self.run} of {self.execution_id}"
