"""/api/models: the models that the person asking may pick."""

from __future__ import annotations

from dataclasses import asdict

from drf_spectacular.utils import extend_schema, inline_serializer
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from chat import model_choice
from chat.api.view import ChatView

ENTRY = inline_serializer(
    "OfferedModel",
    {
        "name": serializers.CharField(
            allow_blank=True, help_text="Send this as `model`; empty: the model server decides."
        ),
        "label": serializers.CharField(allow_blank=True, help_text="A short name to show."),
        "endpoint": serializers.CharField(help_text="Whose model it is."),
        "context_tokens": serializers.IntegerField(help_text="How much it reads at once."),
        "sees_images": serializers.BooleanField(),
    },
    many=True,
)
ANSWER = inline_serializer(
    "Models",
    {
        "default": serializers.CharField(
            allow_blank=True, help_text="The model that answers where none is picked: yours, else the site's."
        ),
        "models": ENTRY,
    },
)


class Models(ChatView):
    """What can be picked."""

    @extend_schema(summary="List the models you may pick", responses=ANSWER)
    def get(self, request: Request) -> Response:
        """Return the models for a conversation or a message, the site's default first."""
        user = self.owner.user
        return Response(
            {
                "default": model_choice.default_name(user),
                "models": [asdict(model) for model in model_choice.offered(user)],
            }
        )
