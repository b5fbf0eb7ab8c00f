"""Refusals about files.

Refusal
└── WorkspaceError
    ├── FileMissing        404
    ├── PathTaken          409
    ├── ContentGone        410
    ├── FileTooLarge       413
    ├── BadRange           416
    ├── BadUpload          400
    ├── BadImage           400
    ├── FileInfected       422
    ├── ScannerUnavailable 503
    └── QuotaExceeded      507
"""

from __future__ import annotations

from http import HTTPStatus

from durable.errors import NotFound, Refusal


class WorkspaceError(Refusal):
    """The file could not be handled."""

    code = "workspace_error"


class FileMissing(WorkspaceError, NotFound):
    """There is no such file in your workspace."""

    status = HTTPStatus.NOT_FOUND
    code = "not_found"


class PathTaken(WorkspaceError):
    """A file with this name already exists."""

    status = HTTPStatus.CONFLICT
    code = "path_taken"
    hint = "Choose another name, or allow overwriting."


class ContentGone(WorkspaceError):
    """The file is listed, but its content is no longer in storage."""

    status = HTTPStatus.GONE
    code = "content_gone"


class FileTooLarge(WorkspaceError):
    """The file is too large."""

    status = HTTPStatus.REQUEST_ENTITY_TOO_LARGE
    code = "file_too_large"


class BadRange(WorkspaceError):
    """The requested range is outside the file."""

    status = HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE
    code = "bad_range"


class BadUpload(WorkspaceError):
    """The upload cannot be read."""

    code = "bad_upload"


class BadImage(WorkspaceError):
    """The image is damaged, of an unknown type, or has too many pixels."""

    code = "bad_image"


class FileInfected(WorkspaceError):
    """The virus scanner found something in this file, so it was not saved."""

    status = HTTPStatus.UNPROCESSABLE_ENTITY
    code = "file_infected"
    hint = "If you are sure that the file is harmless, ask the people who run this site."


class ScannerUnavailable(WorkspaceError):
    """Files are checked for viruses before they are saved, and the scanner does not answer now. Nothing was saved."""

    status = HTTPStatus.SERVICE_UNAVAILABLE
    code = "scanner_unavailable"
    hint = "Try again in a few minutes."
    retry_after = 60.0


class QuotaExceeded(WorkspaceError):
    """The workspace is full."""

    status = HTTPStatus.INSUFFICIENT_STORAGE
    code = "workspace_full"
    hint = "Delete files that you no longer need, then try again."
