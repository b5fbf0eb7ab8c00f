"""MCP servers, their tools, and people's sign-ins at them."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib.auth.models import Group
from django.db import models
from django.db.models import Q

from connections import limits
from durable.ids import new_id


class ToolServer(models.Model):
    """An MCP server that a person, a group or the whole site uses. No connection to it is kept."""

    class Auth(models.TextChoices):
        NONE = "none"
        KEY = "key"  # one key for everybody who uses the server
        SIGN_IN = "sign_in"  # OAuth; everybody has a sign-in of their own

    class Era(models.TextChoices):
        UNKNOWN = ""
        MODERN = "modern"  # 2026-07-28: every request stands for itself
        HANDSHAKE = "handshake"  # 2025-11-25 and before: `initialize` first

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    name = models.CharField(
        max_length=limits.MAX_SERVER_NAME_CHARACTERS, help_text="Begins the names of its tools."
    )
    title = models.CharField(max_length=200, blank=True, default="")
    url = models.CharField(max_length=limits.MAX_SERVER_URL_CHARACTERS)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, null=True, blank=True, related_name="+"
    )
    group = models.ForeignKey(
        Group,
        on_delete=models.CASCADE,
        null=True,
        blank=True,
        related_name="+",
        help_text="Its members use the server. With neither user nor group, everybody does.",
    )
    from_setting = models.BooleanField(
        default=False, help_text="Comes from COPILOT_MCP_SERVERS, which changes it."
    )
    enabled = models.BooleanField(default=True)
    auth = models.CharField(max_length=16, choices=Auth.choices, default=Auth.NONE)
    key_header = models.CharField(max_length=100, default="Authorization")
    sealed_key = models.TextField(blank=True, default="", help_text="Encrypted.")
    era = models.CharField(max_length=16, choices=Era.choices, blank=True, default=Era.UNKNOWN)
    protocol_version = models.CharField(max_length=32, blank=True, default="")
    instructions = models.TextField(blank=True, default="", help_text="What the server says about itself.")
    failures = models.PositiveIntegerField(default=0, help_text="In a row.")
    retry_at = models.DateTimeField(null=True, blank=True, help_text="Left alone until then.")
    last_error = models.TextField(blank=True, default="")
    listed_at = models.DateTimeField(null=True, blank=True, help_text="When its tools were listed last.")
    oauth = models.JSONField(
        default=dict, blank=True, help_text="Issuer, endpoints and our client id, without secrets."
    )
    sealed_client_secret = models.TextField(blank=True, default="", help_text="Encrypted.")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["created_at"]
        constraints = [
            models.UniqueConstraint(
                fields=["user", "name"], condition=Q(user__isnull=False), name="connections_name_of_user"
            ),
            models.UniqueConstraint(
                fields=["name"], condition=Q(user__isnull=True), name="connections_name_of_site"
            ),
        ]

    def __str__(self) -> str:
        return self.title or self.name

    @property
    def scope(self) -> str:
        """Who uses it: person, group or site."""
        return "person" if self.user_id else "group" if self.group_id else "site"


class ServerSignIn(models.Model):
    """The tokens of one person at one server, valid for one issuer and one address only."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    server = models.ForeignKey(ToolServer, on_delete=models.CASCADE, related_name="sign_ins")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    issuer = models.CharField(max_length=limits.MAX_SERVER_URL_CHARACTERS)
    resource = models.CharField(max_length=limits.MAX_SERVER_URL_CHARACTERS)
    scopes = models.JSONField(default=list, blank=True)
    secret = models.TextField(help_text="Encrypted.")
    expires_at = models.DateTimeField(null=True, blank=True)
    refreshing_until = models.DateTimeField(null=True, blank=True)
    signed_out_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["server", "user"], name="connections_one_sign_in"),
        ]

    def __str__(self) -> str:
        return f"{self.user} at {self.server}"


class ServerTool(models.Model):
    """A tool of a server as it was approved, and the change that waits for approval, if there is one."""

    class State(models.TextChoices):
        APPROVED = "approved"
        CHANGED = "changed"  # not used before a person has seen the change
        NEW = "new"  # came after the server was added: not used before a person has seen it
        GONE = "gone"  # the server lists it no more

    class Effect(models.TextChoices):
        PURE = "pure"
        IDEMPOTENT = "idempotent"
        FOREIGN = "foreign"

    USABLE = frozenset({State.APPROVED})

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    server = models.ForeignKey(ToolServer, on_delete=models.CASCADE, related_name="tools")
    name = models.CharField(max_length=255, help_text="As the server calls it.")
    known_as = models.CharField(max_length=64, help_text="As the model calls it.")
    definition: Any = models.JSONField(default=dict, help_text="As it was approved.")
    digest = models.CharField(max_length=64, blank=True, default="", help_text="Of that definition.")
    offered: Any = models.JSONField(
        null=True, blank=True, help_text="The definition that waits for approval."
    )
    state = models.CharField(max_length=16, choices=State.choices, default=State.NEW)
    effect = models.CharField(
        max_length=16, choices=Effect.choices, default=Effect.FOREIGN, help_text="From the server's hints."
    )
    lowered_effect = models.CharField(
        max_length=16,
        choices=Effect.choices,
        blank=True,
        default="",
        help_text="What a person trusts it to be.",
    )
    pinned = models.BooleanField(default=False, help_text="Always shown to the model.")
    approved_at = models.DateTimeField(null=True, blank=True)
    approved_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )

    class Meta:
        ordering = ["name"]
        constraints = [
            models.UniqueConstraint(fields=["server", "name"], name="connections_tool_of_server"),
        ]

    def __str__(self) -> str:
        return self.known_as

    @property
    def trusted_effect(self) -> str:
        """The effect that counts: the server's hints, or less where a person trusts it less."""
        return self.lowered_effect or self.effect
