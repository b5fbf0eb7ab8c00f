"""Totals of rows that have been counted, so that no scrape counts them again."""

from __future__ import annotations

from django.db import models


class RunningTotal(models.Model):
    """The totals of all rows of one source that became final before `until`, even if deleted since."""

    source = models.CharField(max_length=64, primary_key=True)
    until = models.DateTimeField(help_text="Rows before this moment are in.")
    numbers = models.JSONField(default=dict)

    def __str__(self) -> str:
        return f"{self.source} until {self.until:%Y-%m-%d %H:%M:%S}"
