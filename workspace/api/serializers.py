"""Serializers of files, uploads and renames."""

from __future__ import annotations

from typing import Any

from django.urls import reverse
from rest_framework import serializers

from workspace import limits
from workspace.models import WorkspaceFile


class FileSerializer(serializers.ModelSerializer[WorkspaceFile]):
    """A file without its content."""

    name = serializers.CharField(read_only=True)
    reference = serializers.CharField(read_only=True, help_text="How messages and tools point at the file.")
    content_url = serializers.SerializerMethodField(help_text="Where its content is.")

    class Meta:
        model = WorkspaceFile
        fields = ["id", "path", "name", "media_type", "size", "sha256", "session_id"]
        fields += ["reference", "content_url", "created_at", "updated_at"]
        read_only_fields = fields

    def get_content_url(self, file: WorkspaceFile) -> str:
        return reverse("file-content", args=[file.id])


class UploadSerializer(serializers.Serializer[Any]):
    """The form of an upload."""

    file = serializers.FileField(allow_empty_file=True, max_length=None)
    path = serializers.CharField(
        required=False, max_length=4 * limits.MAX_PATH_CHARACTERS, trim_whitespace=False
    )
    session_id = serializers.UUIDField(required=False)
    overwrite = serializers.BooleanField(required=False, default=False)


class RenameSerializer(serializers.Serializer[Any]):
    """A new path."""

    path = serializers.CharField(max_length=4 * limits.MAX_PATH_CHARACTERS, trim_whitespace=False)
