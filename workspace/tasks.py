"""Celery tasks: the broom, which beat asks for."""

from __future__ import annotations

from celery import shared_task

from workspace import cleaning


@shared_task(name="workspace.purge_deleted")
def purge_deleted() -> None:
    """Remove content that no file owns any more; twice does no harm."""
    cleaning.purge_deleted()
