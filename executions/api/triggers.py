"""/api/triggers: list, create, change and delete the user's triggers; their call log, and replays."""

from __future__ import annotations

import json
from typing import Any

from django.db.models import QuerySet
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema, extend_schema_view
from rest_framework import generics, serializers, status
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.api.authentication import current_user
from accounts.api.throttling import WriteRate
from durable import storable
from executions import limits
from executions.api.own_agents import AgentRemovedField, OwnAgentField
from executions.models import Trigger, TriggerDelivery
from executions.triggers import actions, dispatch

MAX_SECRET_CHARACTERS = 500


class TriggerSerializer(serializers.ModelSerializer[Trigger]):
    """A trigger without its address and secret."""

    agent_id = OwnAgentField(source="agent")
    agent_name = serializers.CharField(source="agent.name", read_only=True)
    agent_removed = AgentRemovedField()
    version = serializers.IntegerField(
        min_value=1, allow_null=True, required=False, help_text="Null: the newest version at each call."
    )
    node_id = serializers.CharField(
        max_length=200,
        required=False,
        allow_blank=True,
        help_text="The trigger block that gets the payload; default: all of them.",
    )
    url = serializers.SerializerMethodField(
        help_text="Complete only in the response that creates or rotates it."
    )
    secret = serializers.CharField(
        max_length=MAX_SECRET_CHARACTERS,
        write_only=True,
        required=False,
        trim_whitespace=False,
        help_text="Your own secret; default: a generated one, if calls are signed.",
    )
    inputs = serializers.DictField(required=False, help_text="Inputs of every run besides the payload.")

    class Meta:
        model = Trigger
        fields = [
            "id",
            "name",
            "agent_id",
            "agent_name",
            "agent_removed",
            "version",
            "node_id",
            "url",
            "scheme",
            "secret",
            "inputs",
            "enabled",
            "old_secret_until",
            "created_at",
            "called_at",
        ]
        read_only_fields = ["old_secret_until", "created_at", "called_at"]

    def get_url(self, trigger: Trigger) -> str:
        return actions.shown_url(trigger)


class TriggerChangeForm(TriggerSerializer):
    """A trigger's changeable fields; the agent is not one of them."""

    agent_id = OwnAgentField(source="agent", read_only=True)


class ShownSerializer(TriggerSerializer):
    """A trigger with its address and secret, which are shown once."""

    url = serializers.CharField(help_text="The address to call. Store it: it is only shown once.")  # type: ignore[assignment]
    secret = serializers.CharField(help_text="The secret that signs calls; empty if they are not signed.")


class RotateForm(serializers.Serializer[Any]):
    what = serializers.ChoiceField(choices=["address", "secret"])
    secret = serializers.CharField(max_length=MAX_SECRET_CHARACTERS, required=False, default="")
    grace_seconds = serializers.FloatField(
        min_value=0,
        max_value=limits.MAX_HOOK_GRACE_SECONDS,
        required=False,
        default=limits.HOOK_GRACE_SECONDS,
        help_text="How long the old secret stays valid. An old address stops working at once.",
    )


class DeliverySerializer(serializers.ModelSerializer[TriggerDelivery]):
    """One call of a trigger."""

    execution_id = serializers.UUIDField(allow_null=True)
    replay_of = serializers.UUIDField(source="replay_of_id", allow_null=True)
    payload: Any = serializers.JSONField(allow_null=True)

    class Meta:
        model = TriggerDelivery
        fields = [
            "id",
            "state",
            "error",
            "execution_id",
            "delivery_key",
            "replay_of",
            "tries",
            "received_at",
            "headers",
            "payload",
        ]
        read_only_fields = fields


class OwnTriggers(generics.GenericAPIView[Trigger]):
    """Base of views on the user's own triggers."""

    queryset = Trigger.objects.none()
    serializer_class = TriggerSerializer
    throttle_classes = [WriteRate]

    def get_queryset(self) -> QuerySet[Trigger]:
        own = Trigger.objects.filter(user=current_user(self.request)).order_by("-created_at")
        return own.select_related("agent")

    def shown(self, made: actions.TriggerSecrets, code: int = status.HTTP_200_OK) -> Response:
        """Return the one response that contains address and secret."""
        answer = self.get_serializer(made.trigger).data
        answer |= {"url": made.url} if made.url else {}
        answer |= {"secret": made.secret} if made.secret else {}
        return Response(answer, status=code, headers={"Cache-Control": "no-store"})


@extend_schema_view(
    get=extend_schema(
        summary="List triggers", description="Your triggers, without their addresses and secrets."
    )
)
class Triggers(OwnTriggers, generics.ListAPIView[Trigger]):
    """List triggers; create one."""

    @extend_schema(summary="Create a trigger", responses={201: ShownSerializer})
    def post(self, request: Request) -> Response:
        """Create an address that starts an agent. The address and its secret are only shown once."""
        form = self.get_serializer(data=request.data)
        form.is_valid(raise_exception=True)
        made = actions.create(current_user(request), actions.NewTrigger(**form.validated_data))
        return self.shown(made, status.HTTP_201_CREATED)


@extend_schema_view(
    get=extend_schema(summary="Get a trigger", description="One trigger, without its address and secret.")
)
class OneTrigger(OwnTriggers, generics.RetrieveAPIView[Trigger]):
    """One trigger."""

    @extend_schema(summary="Change a trigger", request=TriggerChangeForm)
    def patch(self, request: Request, **kwargs: Any) -> Response:
        """Change the trigger, or switch it on and off. A new signing scheme gets a new secret, shown once."""
        trigger = self.get_object()
        form = TriggerChangeForm(
            trigger, data=request.data, partial=True, context=self.get_serializer_context()
        )
        form.is_valid(raise_exception=True)
        return self.shown(actions.change(trigger, **form.validated_data))

    @extend_schema(summary="Delete a trigger", responses={204: None})
    def delete(self, request: Request, **kwargs: Any) -> Response:
        """Delete the trigger with its log; its address stops working."""
        self.get_object().delete()
        return Response(status=status.HTTP_204_NO_CONTENT)


class Rotate(OwnTriggers):
    """Rotate the address or the secret."""

    @extend_schema(
        summary="Rotate a trigger's address or secret", request=RotateForm, responses=ShownSerializer
    )
    def post(self, request: Request, **kwargs: Any) -> Response:
        """Replace the address or the secret; the new one is only shown once."""
        trigger = self.get_object()
        form = RotateForm(data=request.data)
        form.is_valid(raise_exception=True)
        said = form.validated_data
        if said["what"] == "address":
            return self.shown(actions.rotate_address(trigger))
        return self.shown(
            actions.rotate_secret(trigger, secret=said["secret"], grace_seconds=said["grace_seconds"])
        )


class TestForm(serializers.Serializer[Any]):
    payload = serializers.DictField(required=False, default=dict, help_text="What a caller would send.")

    def validate_payload(self, payload: dict[str, Any]) -> dict[str, Any]:
        if len(json.dumps(payload)) > limits.MAX_HOOK_BYTES:
            raise serializers.ValidationError(f"Send at most {limits.MAX_HOOK_BYTES:,} bytes.")
        kept: dict[str, Any] = storable.nearest_json(payload)
        return kept


class TestCall(OwnTriggers):
    """Try a trigger out."""

    @extend_schema(summary="Test a trigger", request=TestForm, responses={202: DeliverySerializer})
    def post(self, request: Request, **kwargs: Any) -> Response:
        """Start the agent as a call with this payload would, without a signature. It is logged as a call."""
        trigger = self.get_object()
        form = TestForm(data=request.data)
        form.is_valid(raise_exception=True)
        made = dispatch.try_out(trigger, form.validated_data["payload"])
        return Response(DeliverySerializer(made).data, status=status.HTTP_202_ACCEPTED)


class OwnTriggerDeliveries(generics.GenericAPIView[TriggerDelivery]):
    """Base of views on the calls of one of the user's triggers."""

    queryset = TriggerDelivery.objects.none()
    serializer_class = DeliverySerializer
    throttle_classes = [WriteRate]

    def get_queryset(self) -> QuerySet[TriggerDelivery]:
        own = Trigger.objects.filter(user=current_user(self.request))
        trigger = get_object_or_404(own, pk=self.kwargs["trigger_id"])
        return trigger.deliveries.order_by("-received_at").select_related("trigger__user", "trigger__agent")


@extend_schema_view(
    get=extend_schema(summary="List calls of a trigger", description="The log of calls, newest first.")
)
class TriggerDeliveries(OwnTriggerDeliveries, generics.ListAPIView[TriggerDelivery]):
    """The log of calls, newest first."""


class ReplayTriggerDelivery(OwnTriggerDeliveries):
    """Replay a call."""

    @extend_schema(summary="Replay a call of a trigger", request=None, responses={202: DeliverySerializer})
    def post(self, request: Request, **kwargs: Any) -> Response:
        """Start the agent again with the data of this call, as a new delivery."""
        again = dispatch.replay(self.get_object())
        return Response(self.get_serializer(again).data, status=status.HTTP_202_ACCEPTED)
