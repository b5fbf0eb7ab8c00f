"""Keep usage and storage consistent however a file is deleted: by its owner, in the admin, or with its user."""

from __future__ import annotations

from typing import Any

from django.db.models.signals import post_delete
from django.dispatch import receiver

from workspace import quotas
from workspace.blobs import release_blob
from workspace.models import WorkspaceFile


@receiver(post_delete, sender=WorkspaceFile)
def release_file(sender: type[WorkspaceFile], instance: WorkspaceFile, **kwargs: Any) -> None:
    quotas.give_back(instance.user_id, size=instance.size, files=1)
    release_blob(instance.blob)
