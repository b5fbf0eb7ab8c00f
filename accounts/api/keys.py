"""/api/keys: list, create and revoke API keys."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema, extend_schema_view
from rest_framework import generics, serializers, status
from rest_framework.request import Request
from rest_framework.response import Response

from accounts import limits
from accounts.api.authentication import current_user
from accounts.api_keys import make_key, revoke_key
from accounts.models import ApiKey

LIMITS = ["allowed_models", "allowed_tools", "requests_per_minute", "day_limit", "month_limit"]


class NamesField(serializers.ListField):
    """A list of names, or null for all."""

    def __init__(self, **options: Any) -> None:
        child = serializers.CharField(max_length=limits.MAX_KEY_NAME_CHARACTERS)
        most = limits.MAX_KEY_NAMES
        super().__init__(child=child, max_length=most, required=False, allow_null=True, **options)


class KeySerializer(serializers.ModelSerializer[ApiKey]):
    """A key without its secret."""

    prefix = serializers.SerializerMethodField(help_text="The first characters of the key.")
    allowed_models = NamesField(
        help_text="Models it may use under /v1, such as copilot or agent/*; null is all."
    )
    allowed_tools = NamesField(help_text="Tools its answers may use; null is all.")

    class Meta:
        model = ApiKey
        fields = ["id", "name", "prefix", "created_at", "last_used_at", *LIMITS]
        read_only_fields = ["created_at", "last_used_at"]

    def get_prefix(self, key: ApiKey) -> str:
        return f"rk_{key.prefix}_"


class NewKeySerializer(KeySerializer):
    """A key with its secret: the answer to making one, and nowhere else."""

    key = serializers.CharField(read_only=True, help_text="The key itself. It is shown this once.")

    class Meta(KeySerializer.Meta):
        fields = [*KeySerializer.Meta.fields, "key"]


class OwnKeys(generics.GenericAPIView[ApiKey]):
    """The user's own keys that have not been revoked."""

    queryset = ApiKey.objects.none()
    serializer_class = KeySerializer

    def get_queryset(self) -> QuerySet[ApiKey]:
        return ApiKey.objects.filter(user=current_user(self.request), revoked_at=None, grant=None).order_by(
            "-id"
        )


@extend_schema_view(
    get=extend_schema(
        summary="List API keys", description="Your API keys; the keys themselves are not stored."
    )
)
class Keys(OwnKeys, generics.ListAPIView[ApiKey]):
    """List keys; make one."""

    @extend_schema(summary="Create an API key", responses={201: NewKeySerializer})
    def post(self, request: Request) -> Response:
        """Make an API key. The answer shows it this once: only its hash is kept."""
        form = self.get_serializer(data=request.data)
        form.is_valid(raise_exception=True)
        row, key = make_key(current_user(request), **form.validated_data)
        answer = {**KeySerializer(row).data, "key": key}
        return Response(answer, status=status.HTTP_201_CREATED, headers={"Cache-Control": "no-store"})


class Key(OwnKeys):
    """One key."""

    @extend_schema(summary="Change an API key", responses=KeySerializer)
    def patch(self, request: Request, **kwargs: Any) -> Response:
        """Rename the key or change its limits; they hold from the next request on."""
        form = self.get_serializer(self.get_object(), data=request.data, partial=True)
        form.is_valid(raise_exception=True)
        form.save()
        return Response(form.data)

    @extend_schema(summary="Revoke an API key", responses={204: None})
    def delete(self, request: Request, **kwargs: Any) -> Response:
        """Revoke the key at once. This cannot be undone."""
        revoke_key(self.get_object())
        return Response(status=status.HTTP_204_NO_CONTENT)
