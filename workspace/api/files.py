"""/api/files: list, upload, view, rename and delete files."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import AbstractBaseUser
from django.core.exceptions import SuspiciousOperation
from django.core.files.uploadhandler import FileUploadHandler, TemporaryFileUploadHandler
from django.db.models import QuerySet
from django.http import HttpRequest
from django.http.multipartparser import MultiPartParserError
from django.urls import reverse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import generics, serializers, status
from rest_framework.exceptions import ParseError
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response

from workspace import files, limits
from workspace.errors import BadUpload, FileTooLarge
from workspace.models import WorkspaceFile

MAX_FILES = 1


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


class OwnFiles(generics.GenericAPIView[WorkspaceFile]):
    """The user's own files."""

    queryset = WorkspaceFile.objects.none()
    serializer_class = FileSerializer

    @property
    def owner(self) -> AbstractBaseUser:
        assert isinstance(self.request.user, AbstractBaseUser), "the permission requires a login"
        return self.request.user

    def get_queryset(self) -> QuerySet[WorkspaceFile]:
        return files.of_user(self.owner, self.request.query_params.get("prefix", "")).order_by("path")

    def own_file(self) -> WorkspaceFile:
        return files.find(self.owner, file_id=self.kwargs["file_id"])


class Files(OwnFiles, generics.ListAPIView[WorkspaceFile]):
    """List files; upload one."""

    @extend_schema(
        summary="List files",
        parameters=[OpenApiParameter("prefix", OpenApiTypes.STR, description="Only paths that begin so.")],
    )
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """One's own files by path."""
        return super().get(request, *args, **kwargs)

    def get_parsers(self) -> list[Any]:
        return [MultiPartParser()]

    def initialize_request(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Request:
        if request.method == "POST":
            prepare_upload(request)
        return super().initialize_request(request, *args, **kwargs)

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        if request.method == "POST":
            refuse_large_request(request._request)
        super().initial(request, *args, **kwargs)

    @extend_schema(
        summary="Upload a file",
        request={"multipart/form-data": UploadSerializer},
        responses={201: FileSerializer},
    )
    def post(self, request: Request) -> Response:
        """Upload one file (field `file`). A taken name gets a number unless `overwrite` is true."""
        form = UploadSerializer(data=read_form(request))
        form.is_valid(raise_exception=True)
        given = form.validated_data
        saved = files.save(
            self.owner,
            given.get("path") or given["file"].name,
            given["file"],
            session_id=given.get("session_id"),
            overwrite=given["overwrite"],
            number=not given["overwrite"],
        )
        return Response(self.get_serializer(saved).data, status=status.HTTP_201_CREATED)


class File(OwnFiles):
    """One file."""

    @extend_schema(summary="Get a file's details")
    def get(self, request: Request, **kwargs: Any) -> Response:
        """Return the file's metadata."""
        return Response(self.get_serializer(self.own_file()).data)

    @extend_schema(summary="Rename a file", request=RenameSerializer)
    def patch(self, request: Request, **kwargs: Any) -> Response:
        """Give the file another path."""
        file = self.own_file()
        form = RenameSerializer(data=request.data)
        form.is_valid(raise_exception=True)
        return Response(self.get_serializer(files.rename(file, form.validated_data["path"])).data)

    @extend_schema(summary="Delete a file", responses={204: None})
    def delete(self, request: Request, **kwargs: Any) -> Response:
        """Delete the file permanently."""
        files.delete(self.own_file())
        return Response(status=status.HTTP_204_NO_CONTENT)


def read_form(request: Request) -> Any:
    """Return the parsed form; raises BadUpload for too many fields or a malformed body."""
    try:
        return request.data
    except (SuspiciousOperation, MultiPartParserError, ParseError) as error:
        raise BadUpload(f"The upload cannot be read: {error}") from error
