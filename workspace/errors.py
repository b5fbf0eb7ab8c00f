"""What can go wrong with a file.

APIException
└── WorkspaceError
    ├── FileMissing        404
    ├── PathTaken          409
    ├── ContentGone        410
    ├── FileTooLarge       413
    ├── BadRange           416
    ├── BadUpload          400
    ├── BadArchive         400
    ├── BadImage           400
    └── QuotaExceeded      507
"""

from __future__ import annotations

from rest_framework import status
from rest_framework.exceptions import APIException, NotFound


class WorkspaceError(APIException):
    """The file could not be handled."""

    status_code: int = status.HTTP_400_BAD_REQUEST
    default_code = "workspace_error"
    default_detail = __doc__


class FileMissing(WorkspaceError, NotFound):
    """There is no such file in your workspace."""

    status_code = status.HTTP_404_NOT_FOUND
    default_code = "not_found"
    default_detail = __doc__


class PathTaken(WorkspaceError):
    """A file with this name is there already."""

    status_code = status.HTTP_409_CONFLICT
    default_code = "path_taken"
    default_detail = __doc__
    hint = "Choose another name, or say that it may be overwritten."


class ContentGone(WorkspaceError):
    """The file is listed, but its content is no longer in storage."""

    status_code = status.HTTP_410_GONE
    default_code = "content_gone"
    default_detail = __doc__


class FileTooLarge(WorkspaceError):
    """The file is larger than one file may be."""

    status_code = status.HTTP_413_REQUEST_ENTITY_TOO_LARGE
    default_code = "file_too_large"
    default_detail = __doc__


class BadRange(WorkspaceError):
    """The asked range is not inside the file."""

    status_code = status.HTTP_416_REQUESTED_RANGE_NOT_SATISFIABLE
    default_code = "bad_range"
    default_detail = __doc__


class BadUpload(WorkspaceError):
    """The upload cannot be read."""

    default_code = "bad_upload"
    default_detail = __doc__


class BadArchive(WorkspaceError):
    """The archive is damaged, too large when unpacked, or has names that lead outside."""

    default_code = "bad_archive"
    default_detail = __doc__


class BadImage(WorkspaceError):
    """The picture is damaged, of an unknown kind, or has too many pixels."""

    default_code = "bad_image"
    default_detail = __doc__


class QuotaExceeded(WorkspaceError):
    """The workspace is full."""

    status_code = status.HTTP_507_INSUFFICIENT_STORAGE
    default_code = "workspace_full"
    default_detail = __doc__
    hint = "Delete files you no longer need, then try again."
