"""What the copilot has learned about a person and their business."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from durable import limits
from durable.retrying import in_transaction

Facts = dict[str, str | list[str]]


FROM_PERSON = "the person, in chat"


class Understanding(models.Model):
    """The facts one user told us, by topic: a text, or a list of texts. Nobody else's session reads them."""

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, primary_key=True, related_name="understanding"
    )
    facts = models.JSONField(default=dict)
    origins = models.JSONField(
        default=dict, db_default={}, help_text="By topic: where its newest fact came from."
    )
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        verbose_name_plural = "understandings"

    def __str__(self) -> str:
        return f"facts about user {self.pk}"

    @classmethod
    @in_transaction
    def add(cls, user_id: int, new: Facts, origin: str = "") -> Facts:
        """Merge facts in: a text replaces, a list grows without doubles. Adding the same twice changes nothing.

        `origin` says where the new facts came from, when not from the person alone.
        """
        cls.objects.get_or_create(user_id=user_id)
        row = cls.objects.select_for_update().get(user_id=user_id)
        row.facts = merge(row.facts, new)
        row.origins = row.origins | dict.fromkeys(new, origin)
        row.save(update_fields=["facts", "origins", "updated_at"])
        return Facts(row.facts)

    @classmethod
    def of(cls, user_id: int) -> Facts:
        """What is known about a user; empty when nothing is."""
        found = cls.objects.filter(user_id=user_id).values_list("facts", flat=True).first()
        return Facts(found or {})

    @classmethod
    def told(cls, user_id: int) -> dict[str, dict[str, object]]:
        """The facts by topic, each with its source."""
        found = cls.objects.filter(user_id=user_id).values_list("facts", "origins").first()
        facts, origins = found or ({}, {})
        return {
            topic: {"source": origins.get(topic) or FROM_PERSON, "fact": fact}
            for topic, fact in facts.items()
        }


def merge(known: Facts, new: Facts) -> Facts:
    """The newest items of a list are kept when it grows past its limit."""
    merged = dict(known)
    for topic, fact in new.items():
        before = merged.get(topic)
        if isinstance(fact, list):
            earlier = before if isinstance(before, list) else []
            items = [item for item in earlier if item not in fact] + list(dict.fromkeys(fact))
            merged[topic] = items[-limits.MAX_FACTS_PER_TOPIC :]
        else:
            merged[topic] = fact
    return merged
