"""Celery tasks of the project."""

from __future__ import annotations

from celery import shared_task

from copilot_project.ops import retention


@shared_task(name="retention.throw_away_old")
def delete_old() -> None:
    """Delete old data; beat runs this once a day, and running it twice is harmless."""
    retention.delete_old()
