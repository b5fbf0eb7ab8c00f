"""Read uploads up to the maximum file size."""

from __future__ import annotations

from typing import Any

from django.core.files.uploadhandler import FileUploadHandler, TemporaryFileUploadHandler
from django.http import HttpRequest

from workspace import limits
from workspace.errors import BadUpload, FileTooLarge

MAX_FILES = 1


class CappedUploadHandler(FileUploadHandler):
    """Counts the bytes and stops at the limit; the next handler stores the file."""

    def __init__(self, request: HttpRequest | None = None) -> None:
        super().__init__(request)
        self.files = 0
        self.size = 0

    def new_file(self, *args: Any, **kwargs: Any) -> None:
        super().new_file(*args, **kwargs)
        self.files += 1
        if self.files > MAX_FILES:
            raise BadUpload("Send one file at a time.")

    def receive_data_chunk(self, raw_data: bytes, start: int) -> bytes:
        self.size += len(raw_data)
        if self.size > limits.MAX_FILE_BYTES:
            raise FileTooLarge(f"One file may have {limits.MAX_FILE_BYTES // 1024**2} MB; this one has more.")
        return raw_data

    def file_complete(self, file_size: int) -> None:
        """Leave the file to the next handler."""


def prepare_upload(request: HttpRequest) -> None:
    """Set the upload handlers before the form is read, possibly by the CSRF check."""
    request.upload_handlers = [CappedUploadHandler(request), TemporaryFileUploadHandler(request)]


def refuse_large_request(request: HttpRequest) -> None:
    """Raise FileTooLarge by the announced length, before the body is read."""
    announced = request.headers.get("Content-Length") or "0"
    if announced.isdigit() and int(announced) > limits.MAX_UPLOAD_REQUEST_BYTES:
        raise FileTooLarge(f"One file may have {limits.MAX_FILE_BYTES // 1024**2} MB; this request has more.")
