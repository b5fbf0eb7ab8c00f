"""Model servers that administrators add, beside those of the settings."""

from __future__ import annotations

from django.contrib.auth.models import Group
from django.db import models

from durable.encryption import seal
from llm.endpoint_format import DIALECT_NAMES, EFFORTS


class ModelEndpoint(models.Model):
    """A model server; its key is encrypted and never shown again. An endpoint of the settings wins over its name."""

    name = models.CharField(
        max_length=64,
        unique=True,
        help_text="Short, without a slash. People and settings name its models name/model.",
    )
    url = models.CharField(
        "address",
        max_length=500,
        blank=True,
        help_text="Such as http://vllm:8000/v1. Empty: the provider that the dialect belongs to.",
    )
    sealed_key = models.TextField(blank=True, default="", editable=False)
    dialect = models.CharField(
        max_length=16,
        choices=[(name, name) for name in DIALECT_NAMES],
        default="chat",
        help_text="The protocol: OpenAI chat completions, Anthropic Messages or OpenAI Responses.",
    )
    model_names = models.JSONField(
        "models",
        default=list,
        blank=True,
        help_text='A list such as ["qwen3-vl", "qwen3*"]. People can pick these, and what the server has for a *.',
    )
    prices = models.JSONField(
        default=dict,
        blank=True,
        help_text='US dollars per million tokens: {"qwen3-vl": {"input": 0.1, "output": 0.4, "cached": 0.02}}.',
    )
    window = models.PositiveIntegerField(
        null=True,
        blank=True,
        help_text="Tokens that its models read at once, where that is not known by name.",
    )
    vision = models.BooleanField(
        null=True, blank=True, help_text="Whether its models see images, where that is not known by name."
    )
    effort = models.CharField(
        "reasoning effort",
        max_length=16,
        blank=True,
        default="",
        choices=[(name, name) for name in EFFORTS],
        help_text="How much its models think before they answer; empty leaves it to them.",
    )
    groups = models.ManyToManyField(
        Group, blank=True, related_name="+", help_text="Who may use it; empty means everybody."
    )
    is_default = models.BooleanField(
        "default",
        default=False,
        help_text="Its first model answers where nobody has picked one, unless COPILOT_MODEL is set.",
    )
    enabled = models.BooleanField(default=True)
    changed_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ["name"]
        constraints = [
            models.UniqueConstraint(
                fields=["is_default"],
                condition=models.Q(is_default=True),
                name="llm_one_default_endpoint",
                violation_error_message="Another endpoint is the default.",
            )
        ]

    def __str__(self) -> str:
        return self.name

    def set_key(self, key: str) -> None:
        """Encrypt and keep the key; an empty one removes it. The caller saves the row."""
        self.sealed_key = seal(key) if key else ""
