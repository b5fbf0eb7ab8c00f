"""Celery tasks of the house."""

from __future__ import annotations

from celery import shared_task

from copilot_project import retention


@shared_task(name="retention.throw_away_old")
def throw_away_old() -> None:
    """Throw away what is old; beat asks for it once a day, twice does no harm."""
    retention.throw_away_old()
