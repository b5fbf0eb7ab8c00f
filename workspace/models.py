"""Users' files, their total size, and content that no file owns."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from durable.ids import new_id
from workspace import limits


class WorkspaceFile(models.Model):
    """One file of one user: a virtual path, and a random storage key for its content."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="workspace_files"
    )
    path = models.CharField(max_length=limits.MAX_PATH_CHARACTERS)
    media_type = models.CharField(
        max_length=127, help_text="Found from the content, never from what was claimed."
    )
    size = models.BigIntegerField()
    sha256 = models.CharField(max_length=64)
    blob = models.CharField(
        max_length=200, unique=True, editable=False, help_text="Where storage keeps the content."
    )
    key = models.CharField(
        max_length=200,
        null=True,
        editable=False,
        help_text="The effect that made the file, so that it is made once.",
    )
    session_id = models.UUIDField(null=True, blank=True, help_text="The conversation it came up in.")
    outside_sources = models.JSONField(
        default=list,
        db_default=[],
        blank=True,
        help_text="Where its content came from, unless from its owner.",
    )
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ["path"]
        constraints = [
            models.UniqueConstraint(fields=["user", "path"], name="workspace_file_path"),
            models.UniqueConstraint(fields=["user", "key"], name="workspace_file_key"),
            models.CheckConstraint(condition=models.Q(size__gte=0), name="workspace_file_size"),
        ]

    def __str__(self) -> str:
        return self.path

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]

    @property
    def reference(self) -> str:
        return f"workspace://{self.id}"


class WorkspaceUsage(models.Model):
    """The number and total size of a user's files. Every change of them locks this row first."""

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, primary_key=True, on_delete=models.CASCADE, related_name="workspace_usage"
    )
    bytes = models.BigIntegerField(default=0)
    files = models.IntegerField(default=0)

    class Meta:
        verbose_name_plural = "workspace usage"

    def __str__(self) -> str:
        return f"{self.files} files, {self.bytes} bytes"


class LooseBlob(models.Model):
    """Stored content without a file: being written, or left by a deleted or overwritten file."""

    blob = models.CharField(max_length=200, primary_key=True)
    created_at = models.DateTimeField(auto_now_add=True, db_index=True)

    def __str__(self) -> str:
        return self.blob
