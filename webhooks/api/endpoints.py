"""/api/webhooks: list, create, change and delete webhook endpoints."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema, extend_schema_view
from rest_framework import generics, status
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.api.authentication import current_user
from webhooks import endpoints
from webhooks.api.serializers import NewWebhookEndpointSerializer, WebhookEndpointSerializer
from webhooks.models import WebhookEndpoint


class OwnEndpoints(generics.GenericAPIView[WebhookEndpoint]):
    """The user's own endpoints."""

    queryset = WebhookEndpoint.objects.none()
    serializer_class = WebhookEndpointSerializer

    def get_queryset(self) -> QuerySet[WebhookEndpoint]:
        return WebhookEndpoint.objects.filter(user=current_user(self.request)).order_by("-created_at")


@extend_schema_view(
    get=extend_schema(
        summary="List webhook endpoints", description="Your webhook endpoints, without their secrets."
    )
)
class Endpoints(OwnEndpoints, generics.ListAPIView[WebhookEndpoint]):
    """List endpoints; make one."""

    @extend_schema(summary="Create a webhook endpoint", responses={201: NewWebhookEndpointSerializer})
    def post(self, request: Request) -> Response:
        """Make an endpoint. The answer shows its secret this once."""
        form = self.get_serializer(data=request.data)
        form.is_valid(raise_exception=True)
        given = form.validated_data
        made = endpoints.create(
            current_user(request),
            url=given["url"],
            events=given["events"],
            description=given.get("description", ""),
        )
        return shown_once(made, status.HTTP_201_CREATED)


@extend_schema_view(
    get=extend_schema(
        summary="Get a webhook endpoint", description="One webhook endpoint, without its secret."
    )
)
class OneEndpoint(OwnEndpoints, generics.RetrieveAPIView[WebhookEndpoint]):
    """One endpoint."""

    @extend_schema(summary="Change a webhook endpoint")
    def patch(self, request: Request, **kwargs: Any) -> Response:
        """Change url, events, description, or switch it on and off."""
        endpoint = self.get_object()
        form = self.get_serializer(endpoint, data=request.data, partial=True)
        form.is_valid(raise_exception=True)
        return Response(self.get_serializer(endpoints.change(endpoint, **form.validated_data)).data)

    @extend_schema(summary="Delete a webhook endpoint", responses={204: None})
    def delete(self, request: Request, **kwargs: Any) -> Response:
        """Delete the endpoint with its deliveries; nothing more is sent."""
        self.get_object().delete()
        return Response(status=status.HTTP_204_NO_CONTENT)


class RotateSecret(OwnEndpoints):
    """A new secret."""

    @extend_schema(summary="Rotate a webhook secret", request=None, responses=NewWebhookEndpointSerializer)
    def post(self, request: Request, **kwargs: Any) -> Response:
        """Give the endpoint a new secret, shown this once. For a day messages carry signatures of both."""
        return shown_once(endpoints.rotate(self.get_object()), status.HTTP_200_OK)


def shown_once(made: endpoints.WithSecret, code: int) -> Response:
    answer = {**WebhookEndpointSerializer(made.endpoint).data, "secret": made.secret}
    return Response(answer, status=code, headers={"Cache-Control": "no-store"})
