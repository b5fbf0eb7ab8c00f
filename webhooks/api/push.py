"""/api/push and /api/notifications: devices for push messages, what is notified of, and which page shows a notice."""

from __future__ import annotations

from typing import Any

from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema, inline_serializer
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.api.authentication import current_user
from accounts.api.throttling import WriteRate
from boundary.errors import BlockedUrl
from webhooks import limits, notices, subscriptions, vapid_keys
from webhooks.api.deliveries import SendRate
from webhooks.endpoints import check_url
from webhooks.errors import NoPushDevice
from webhooks.models import NotificationSettings, PushSubscription

EVENT_FORM = r"^(turn|review|execution):[0-9a-f-]{36}$"


class PushKeys(serializers.Serializer[Any]):
    p256dh = serializers.CharField(max_length=limits.MAX_PUSH_KEY_CHARACTERS)
    auth = serializers.CharField(max_length=limits.MAX_PUSH_KEY_CHARACTERS)


class NewPushSubscription(serializers.Serializer[Any]):
    """A subscription as the browser's PushSubscription.toJSON() gives it, with a name for the list."""

    endpoint = serializers.CharField(max_length=limits.MAX_PUSH_ENDPOINT_CHARACTERS)
    keys = PushKeys()
    name = serializers.CharField(max_length=100, required=False, allow_blank=True, default="")
    language = serializers.RegexField(r"^[A-Za-z-]{2,8}$", required=False, default="en")

    def validate_endpoint(self, url: str) -> str:
        try:
            check_url(url)
        except BlockedUrl as error:
            raise serializers.ValidationError(str(error)) from error
        return url


class PushSubscriptionShape(serializers.ModelSerializer[PushSubscription]):
    """A device, without its address."""

    class Meta:
        model = PushSubscription
        fields = ["id", "name", "host", "created_at", "used_at"]
        read_only_fields = fields


class NotificationSettingsShape(serializers.ModelSerializer[NotificationSettings]):
    """What you are notified of. Quiet hours are in your time zone and may span midnight; both or neither."""

    class Meta:
        model = NotificationSettings
        fields = ["answers", "questions", "reviews", "runs", "quiet_from", "quiet_until", "all_devices"]

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        ends = {
            name: attrs.get(name, getattr(self.instance, name, None))
            for name in ("quiet_from", "quiet_until")
        }
        if (ends["quiet_from"] is None) != (ends["quiet_until"] is None):
            missing = next(name for name, value in ends.items() if value is None)
            raise serializers.ValidationError({missing: ["Give both ends of the quiet hours, or neither."]})
        return attrs


PUSH = inline_serializer(
    "PushState",
    {
        "public_key": serializers.CharField(help_text="applicationServerKey for PushManager.subscribe."),
        "subscriptions": PushSubscriptionShape(many=True),
    },
)
CLAIM = inline_serializer("NoticeClaim", {"show": serializers.BooleanField()})


class Push(APIView):
    """Web Push."""

    @extend_schema(summary="Get push devices", responses=PUSH)
    def get(self, request: Request) -> Response:
        """Return the site's public key and your devices."""
        own = PushSubscription.objects.filter(user=current_user(request))
        return Response(
            {
                "public_key": vapid_keys.public_key(),
                "subscriptions": PushSubscriptionShape(own, many=True).data,
            }
        )


class PushSubscriptions(APIView):
    """Devices that take push messages."""

    throttle_classes = [WriteRate]

    @extend_schema(
        summary="Add a push device", request=NewPushSubscription, responses={201: PushSubscriptionShape}
    )
    def post(self, request: Request) -> Response:
        """Keep the subscription of this browser, or renew it."""
        form = NewPushSubscription(data=request.data)
        form.is_valid(raise_exception=True)
        given = form.validated_data
        kept = subscriptions.subscribe(
            current_user(request),
            endpoint=given["endpoint"],
            **given["keys"],
            name=given["name"],
            language=given["language"],
        )
        return Response(PushSubscriptionShape(kept).data, status=status.HTTP_201_CREATED)


class OnePushSubscription(APIView):
    """One device."""

    @extend_schema(summary="Remove a push device", responses={204: None})
    def delete(self, request: Request, pk: Any) -> Response:
        """Send nothing more to it."""
        own = PushSubscription.objects.filter(user=current_user(request))
        subscriptions.unsubscribe(get_object_or_404(own, pk=pk))
        return Response(status=status.HTTP_204_NO_CONTENT)


class TestPush(APIView):
    """Trying it out."""

    throttle_classes = [WriteRate, SendRate]

    @extend_schema(summary="Send a test push", request=None, responses={202: None})
    def post(self, request: Request) -> Response:
        """Push a test to all your devices; 409 if there is none."""
        user = current_user(request)
        if not user.has_push:
            raise NoPushDevice
        notices.send_test(user)
        return Response(status=status.HTTP_202_ACCEPTED)


class NotificationChoices(APIView):
    """Which notifications you get."""

    throttle_classes = [WriteRate]

    @extend_schema(summary="Get notification settings", responses=NotificationSettingsShape)
    def get(self, request: Request) -> Response:
        """Return what you are notified of, and your quiet hours."""
        return Response(NotificationSettingsShape(notices.settings_of(current_user(request))).data)

    @extend_schema(
        summary="Change notification settings",
        request=NotificationSettingsShape,
        responses=NotificationSettingsShape,
    )
    def patch(self, request: Request) -> Response:
        """Switch kinds on and off, set quiet hours, choose the devices."""
        chosen = notices.settings_of(current_user(request))
        form = NotificationSettingsShape(chosen, data=request.data, partial=True)
        form.is_valid(raise_exception=True)
        form.save()
        return Response(form.data)


class ClaimNotice(APIView):
    """Which of several open pages shows a notice."""

    @extend_schema(
        summary="Claim a notice",
        request=inline_serializer("NoticeEvent", {"event": serializers.RegexField(EVENT_FORM)}),
        responses=CLAIM,
    )
    def post(self, request: Request) -> Response:
        """Say that this page shows the event; `show` is false if another page does or it was pushed."""
        form = EventForm(data=request.data)
        form.is_valid(raise_exception=True)
        return Response({"show": notices.claim(current_user(request), form.validated_data["event"])})


class EventForm(serializers.Serializer[Any]):
    event = serializers.RegexField(EVENT_FORM)
