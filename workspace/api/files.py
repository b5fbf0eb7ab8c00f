"""/api/files: list, upload, view, rename and delete files."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import AbstractBaseUser
from django.core.exceptions import SuspiciousOperation
from django.db.models import QuerySet
from django.http import HttpRequest
from django.http.multipartparser import MultiPartParserError
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import generics, status
from rest_framework.exceptions import ParseError
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response

from workspace import files
from workspace.api.serializers import FileSerializer, RenameSerializer, UploadSerializer
from workspace.api.uploads import prepare_upload, refuse_large_request
from workspace.errors import BadUpload
from workspace.models import WorkspaceFile


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
