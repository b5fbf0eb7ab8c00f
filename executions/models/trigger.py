"""Triggers: agents that run when another system calls, and the log of those calls."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from durable.clock import CreatedAtField
from durable.ids import new_id
from executions.models.agent import Agent
from executions.models.execution import Execution


class Trigger(models.Model):
    """A web address that starts an agent; its token is the secret part of the address and kept as a hash."""

    class Scheme(models.TextChoices):
        """How a call proves where it comes from, besides knowing the address."""

        NONE = "none"
        STANDARD = "standard_webhooks"
        HMAC = "hmac_sha256"  # as GitHub signs: X-Hub-Signature-256

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="triggers")
    agent = models.ForeignKey(Agent, on_delete=models.CASCADE, related_name="triggers")
    version = models.PositiveIntegerField(null=True, blank=True, help_text="Empty: the newest version.")
    node_id = models.CharField(
        max_length=200, blank=True, default="", help_text="The trigger block it feeds."
    )
    name = models.CharField(max_length=200)
    token_hash = models.CharField(max_length=64, unique=True)
    token_hint = models.CharField(max_length=8, help_text="The start of the token, to know the address by.")
    scheme = models.CharField(max_length=32, choices=Scheme.choices, default=Scheme.NONE)
    secret = models.TextField(blank=True, default="", help_text="Encrypted; checks the signature of a call.")
    old_secret = models.TextField(blank=True, default="", help_text="Encrypted; still counts for a while.")
    old_secret_until = models.DateTimeField(null=True, blank=True)
    inputs = models.JSONField(default=dict, help_text="Inputs every run gets besides the payload.")
    enabled = models.BooleanField(default=True)
    created_at = models.DateTimeField(auto_now_add=True)
    called_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        indexes = [models.Index(fields=["user", "-created_at"], name="executions_trigger_of_user")]

    def __str__(self) -> str:
        return self.name


class TriggerDelivery(models.Model):
    """One call, stored before anything is done about it."""

    class State(models.TextChoices):
        STORED = "stored"  # accepted, not started yet
        STARTED = "started"
        REFUSED = "refused"  # a wrong signature, or a trigger that is switched off
        FAILED = "failed"  # the agent could not be started

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    trigger = models.ForeignKey(Trigger, on_delete=models.CASCADE, related_name="deliveries")
    delivery_key = models.CharField(
        max_length=255, help_text="The caller's own id of the call; again under it: the same row."
    )
    headers = models.JSONField(default=dict, help_text="Secrets left out.")
    payload = models.JSONField(null=True)
    state = models.CharField(max_length=16, choices=State.choices, default=State.STORED)
    error = models.TextField(blank=True, default="")
    execution = models.ForeignKey(
        Execution, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    replay_of = models.ForeignKey(
        "self", on_delete=models.SET_NULL, null=True, blank=True, related_name="replays"
    )
    tries = models.PositiveIntegerField(default=0)
    due_at = models.DateTimeField(
        null=True, blank=True, help_text="A call that is stored and not started by then is picked up."
    )
    received_at = CreatedAtField()

    class Meta:
        verbose_name_plural = "trigger deliveries"
        constraints = [
            models.UniqueConstraint(
                fields=["trigger", "delivery_key"], name="executions_one_row_per_delivery"
            )
        ]
        indexes = [
            models.Index(fields=["state", "due_at"], name="executions_delivery_open"),
            models.Index(fields=["trigger", "-received_at"], name="executions_delivery_recent"),
            models.Index(fields=["received_at"], name="executions_delivery_age"),
        ]

    def __str__(self) -> str:
        return f"call {self.delivery_key} of {self.trigger_id}"
