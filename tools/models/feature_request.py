"""Feature requests of users."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from durable.database import in_transaction
from durable.ids import new_id


class FeatureRequest(models.Model):
    """One feature request and its supporters. Its case-folded title is its identity."""

    class Status(models.TextChoices):
        OPEN = "open"
        PLANNED = "planned"
        DONE = "done"
        DECLINED = "declined"

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    title = models.CharField(max_length=200)
    folded_title = models.CharField(max_length=400, unique=True, editable=False)
    description = models.TextField()
    status = models.CharField(max_length=16, choices=Status.choices, default=Status.OPEN)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-created_at"]

    def __str__(self) -> str:
        return self.title

    @classmethod
    @in_transaction
    def support(cls, user_id: int, title: str, description: str) -> FeatureSupport:
        """Create a request, or support the one with the same title. Once per user and request."""
        request, made = cls.objects.get_or_create(
            folded_title=" ".join(title.casefold().split()),
            defaults={"title": title, "description": description},
        )
        support, _ = FeatureSupport.objects.get_or_create(
            request=request,
            user_id=user_id,
            defaults={"description": description, "is_first": made},
        )
        return support


class FeatureSupport(models.Model):
    """One user's support for a request, in their own words."""

    request = models.ForeignKey(FeatureRequest, on_delete=models.CASCADE, related_name="supporters")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    description = models.TextField()
    is_first = models.BooleanField()
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["request", "user"], name="tools_one_voice_per_user")]

    def __str__(self) -> str:
        return f"{self.request_id} by {self.user_id}"
