"""Remove content that no file owns."""

from __future__ import annotations

from datetime import timedelta

from django.utils import timezone

from durable import fault_isolation
from workspace import limits
from workspace.blobs import remove_blob
from workspace.models import LooseBlob


def purge_deleted(older_than_seconds: float = limits.LOOSE_BLOB_SECONDS) -> int:
    """Remove a batch of content left by deletions and interrupted uploads; return how many."""
    before = timezone.now() - timedelta(seconds=older_than_seconds)
    loose = LooseBlob.objects.filter(created_at__lte=before).order_by("created_at")[: limits.PURGE_BATCH]
    return sum(
        fault_isolation.run_each(loose, lambda row: remove_blob(row.blob), what="Removing a loose file")
    )
