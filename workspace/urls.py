"""The workspace's addresses, below /api/."""

from django.urls import path

from workspace.api.content import Content
from workspace.api.files import File, Files

urlpatterns = [
    path("files", Files.as_view(), name="files"),
    path("files/<uuid:file_id>", File.as_view(), name="file"),
    path("files/<uuid:file_id>/content", Content.as_view(), name="file-content"),
]
