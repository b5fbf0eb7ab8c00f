"""Storage quotas of users, enforced by a row that every change locks first."""

from __future__ import annotations

from django.db.models import F

from workspace import limits
from workspace.errors import QuotaExceeded
from workspace.models import WorkspaceUsage


def room_left(user_id: int) -> int:
    """Return the bytes this user may still add, read without a lock; `charge` decides."""
    usage = WorkspaceUsage.objects.filter(user_id=user_id).first()
    return limits.MAX_WORKSPACE_BYTES - (usage.bytes if usage else 0)


def lock_usage(user_id: int) -> WorkspaceUsage:
    """Lock the user's row for the rest of the transaction; on SQLite the transaction itself is the lock."""
    WorkspaceUsage.objects.get_or_create(user_id=user_id)
    return WorkspaceUsage.objects.select_for_update().get(user_id=user_id)


def charge(usage: WorkspaceUsage, *, size: int, files: int) -> None:
    """Add to a locked row; raises QuotaExceeded."""
    if files > 0 and usage.files + files > limits.MAX_WORKSPACE_FILES:
        raise QuotaExceeded(f"Your workspace already has {limits.MAX_WORKSPACE_FILES} files, the maximum.")
    if size > 0 and usage.bytes + size > limits.MAX_WORKSPACE_BYTES:
        raise QuotaExceeded(
            f"Your workspace would be larger than {limits.MAX_WORKSPACE_BYTES // 1024**2} MB, the maximum."
        )
    usage.bytes += size
    usage.files += files
    usage.save(update_fields=["bytes", "files"])


def give_back(user_id: int, *, size: int, files: int) -> None:
    """Subtract what a deleted file took."""
    WorkspaceUsage.objects.filter(user_id=user_id).update(bytes=F("bytes") - size, files=F("files") - files)
