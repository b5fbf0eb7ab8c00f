"""What the copilot has learned about users and their businesses."""

from __future__ import annotations

from collections.abc import Mapping

from django.conf import settings
from django.db import models

from durable.database import in_transaction
from tools import limits

Facts = dict[str, str | list[str]]


FROM_PERSON = "the person, in chat"


class Understanding(models.Model):
    """Facts about one user by topic: a text, or a list of texts. Only the user's own sessions read them."""

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
        """Merge new facts: a text is replaced, a list is extended without duplicates. Idempotent.

        `origin` names the source of the new facts if it is not the user alone.
        """
        cls.objects.get_or_create(user_id=user_id)
        row = cls.objects.select_for_update().get(user_id=user_id)
        row.facts = merge(row.facts, new)
        row.origins = row.origins | dict.fromkeys(new, origin)
        row.save(update_fields=["facts", "origins", "updated_at"])
        return Facts(row.facts)

    @classmethod
    @in_transaction
    def replace(cls, user_id: int, new: Mapping[str, str | list[str] | None]) -> None:
        """Replace the facts of topics as the user wrote them; None forgets a topic. Idempotent."""
        cls.objects.get_or_create(user_id=user_id)
        row = cls.objects.select_for_update().get(user_id=user_id)
        row.facts = {topic: fact for topic, fact in (row.facts | dict(new)).items() if fact is not None}
        row.origins = {topic: source for topic, source in row.origins.items() if topic not in new}
        row.save(update_fields=["facts", "origins", "updated_at"])

    @classmethod
    def of(cls, user_id: int) -> Facts:
        """Return what is known about a user."""
        found = cls.objects.filter(user_id=user_id).values_list("facts", flat=True).first()
        return Facts(found or {})

    @classmethod
    def with_sources(cls, user_id: int) -> dict[str, dict[str, object]]:
        """Return the facts by topic, each with its source."""
        found = cls.objects.filter(user_id=user_id).first()
        return found.facts_with_sources() if found is not None else {}

    def facts_with_sources(self) -> dict[str, dict[str, object]]:
        return {
            topic: {"source": self.origins.get(topic) or FROM_PERSON, "fact": fact}
            for topic, fact in self.facts.items()
        }


def merge(known: Facts, new: Facts) -> Facts:
    """Return the merged facts; a list that exceeds its limit keeps its newest items."""
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
