"""Celery tasks of the workspace, scheduled by beat."""

from __future__ import annotations

from celery import shared_task

from workspace import blobs


@shared_task(name="workspace.purge_deleted")
def purge_deleted() -> None:
    """Remove content that no file owns. Idempotent."""
    blobs.purge_deleted()
