"""The effect that a test can count."""

from __future__ import annotations

from typing import ClassVar

from django.db import models


class TestEffect(models.Model):
    """One row per effect that happened; the key is that of the call."""

    __test__ = False

    key = models.CharField(max_length=255, unique=True)
    note = models.TextField(blank=True, default="")
    times = models.PositiveIntegerField(default=1)

    objects: ClassVar[models.Manager[TestEffect]] = (
        models.Manager()
    )  # the app is not in the settings mypy reads

    def __str__(self) -> str:
        return self.key
