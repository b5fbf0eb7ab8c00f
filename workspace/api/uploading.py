"""Reading an upload without letting it grow past what one file may be."""

from __future__ import annotations

from typing import Any

from django.core.files.uploadhandler import FileUploadHandler, TemporaryFileUploadHandler
from django.http import HttpRequest

from durable import limits
from workspace.errors import BadUpload, FileTooLarge

MAX_FILES = 1


class CappedUploadHandler(FileUploadHandler):
    """Counts what passes on its way to the handler that keeps it, and stops it at the cap."""

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
        """The next handler has the file."""


def prepare_upload(request: HttpRequest) -> None:
    """Choose the handlers before anyone reads the form; the CSRF check may be the first."""
    request.upload_handlers = [CappedUploadHandler(request), TemporaryFileUploadHandler(request)]


def refuse_large_request(request: HttpRequest) -> None:
    """By what the client announces, before its body is read."""
    announced = request.headers.get("Content-Length") or "0"
    if announced.isdigit() and int(announced) > limits.MAX_UPLOAD_REQUEST_BYTES:
        raise FileTooLarge(f"One file may have {limits.MAX_FILE_BYTES // 1024**2} MB; this request has more.")
