"""Removes content that no file owns any more."""

from __future__ import annotations

from datetime import timedelta

from django.utils import timezone

from durable import guard, limits
from workspace.blobs import remove_blob
from workspace.models import LooseBlob


def purge_deleted(older_than_seconds: float = limits.LOOSE_BLOB_SECONDS) -> int:
    """Remove what deletes and broken-off uploads left in storage; returns how many. Running it twice does no harm."""
    before = timezone.now() - timedelta(seconds=older_than_seconds)
    loose = LooseBlob.objects.filter(created_at__lte=before).order_by("created_at")[: limits.PURGE_BATCH]
    return sum(guard.run_each(loose, lambda row: remove_blob(row.blob), what="Removing a loose file"))
