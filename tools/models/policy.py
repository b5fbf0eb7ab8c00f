"""Rules for tools: whether calls run, ask a person first, or are refused."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q

from durable.ids import new_id
from tools.base import Rule


class ToolPolicy(models.Model):
    """One rule for one tool: of the whole site, of a person, or of one conversation."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    tool_name = models.CharField(max_length=128)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.CASCADE,
        null=True,
        blank=True,
        related_name="+",
        help_text="Empty: the rule of the whole site.",
    )
    session_id = models.UUIDField(null=True, blank=True, help_text="The only conversation it is for.")
    rule = models.CharField(max_length=8, choices=[(rule.value, rule.value) for rule in Rule])
    changed_at = models.DateTimeField(auto_now=True)

    class Meta:
        verbose_name_plural = "tool policies"
        constraints = [
            models.UniqueConstraint(
                fields=["tool_name"], condition=Q(user=None, session_id=None), name="tools_policy_of_site"
            ),
            models.UniqueConstraint(
                fields=["user", "tool_name"],
                condition=Q(user__isnull=False, session_id=None),
                name="tools_policy_of_user",
            ),
            models.UniqueConstraint(
                fields=["session_id", "tool_name"],
                condition=Q(session_id__isnull=False),
                name="tools_policy_of_session",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.tool_name}: {self.rule}"
