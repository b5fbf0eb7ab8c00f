"""What has been added up already, so that no scrape counts the same rows again."""

from __future__ import annotations

from django.db import models


class RunningTotal(models.Model):
    """The sum over all rows of one source that became final before a moment, whatever became of them since."""

    source = models.CharField(max_length=64, primary_key=True)
    until = models.DateTimeField(help_text="Rows before this moment are in.")
    numbers = models.JSONField(default=dict)

    def __str__(self) -> str:
        return f"{self.source} until {self.until:%Y-%m-%d %H:%M:%S}"
