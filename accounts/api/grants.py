"""/api/grants: list and revoke what programs are allowed to do after a sign-in."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema, extend_schema_view
from rest_framework import generics, serializers, status
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.api.authentication import current_user
from accounts.models import OAuthGrant
from accounts.oauth.grants import revoke


class GrantSerializer(serializers.ModelSerializer[OAuthGrant]):
    """A program that the user has allowed to use the account."""

    name = serializers.CharField(source="client.name", help_text="What the program calls itself.")
    client_id = serializers.CharField(source="client.client_id")
    last_used_at = serializers.DateTimeField(source="key.last_used_at", allow_null=True)

    class Meta:
        model = OAuthGrant
        fields = ["id", "name", "client_id", "created_at", "last_used_at"]
        read_only_fields = fields


class OwnGrants(generics.GenericAPIView[OAuthGrant]):
    """The user's own grants that have not been revoked."""

    queryset = OAuthGrant.objects.none()
    serializer_class = GrantSerializer

    def get_queryset(self) -> QuerySet[OAuthGrant]:
        mine = OAuthGrant.objects.filter(user=current_user(self.request), key__revoked_at=None)
        return mine.select_related("client", "key").order_by("-id")


@extend_schema_view(
    get=extend_schema(
        summary="List connected programs", description="Programs that you have signed in to, newest first."
    )
)
class Grants(OwnGrants, generics.ListAPIView[OAuthGrant]):
    """List grants."""


class Grant(OwnGrants):
    """One grant."""

    @extend_schema(summary="Disconnect a program", responses={204: None})
    def delete(self, request: Request, **kwargs: Any) -> Response:
        """End the program's access at once."""
        revoke(self.get_object())
        return Response(status=status.HTTP_204_NO_CONTENT)
