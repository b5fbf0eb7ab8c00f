"""/api/me: the user's profile, preferences and limits."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.urls import reverse
from django.utils import timezone
from django.utils.decorators import method_decorator
from django.views.decorators.csrf import ensure_csrf_cookie
from drf_spectacular.utils import extend_schema, extend_schema_field, inline_serializer
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.api.authentication import current_user
from accounts.budgets import limits_of
from accounts.models import User
from accounts.preferences import model_preference

limits_schema = inline_serializer(
    "AccountLimits",
    {
        "running_turns": serializers.IntegerField(),
        "in_flight_turns": serializers.IntegerField(),
        "day_budget": serializers.FloatField(allow_null=True, help_text="US dollars; null is no limit."),
        "month_budget": serializers.FloatField(allow_null=True, help_text="US dollars; null is no limit."),
    },
)


class MeSerializer(serializers.ModelSerializer[User]):
    """The person asking; e-mail address, time zone, theme, model and instructions are theirs to change."""

    limits = serializers.SerializerMethodField()
    admin_url = serializers.SerializerMethodField(
        help_text="Where the admin is; empty for who may not enter."
    )

    class Meta:
        model = User
        fields = [
            "username",
            "email",
            "time_zone",
            "theme",
            "model",
            "instructions",
            "is_staff",
            "admin_url",
            "date_joined",
            "limits",
        ]
        read_only_fields = ["username", "is_staff", "date_joined"]

    def validate_model(self, name: str) -> str:
        return model_preference.checked(self.instance, name) if self.instance else name

    @extend_schema_field(limits_schema)
    def get_limits(self, user: User) -> dict[str, Any]:
        budget = limits_of(user)
        return {
            "running_turns": settings.COPILOT_MAX_RUNNING_TURNS_PER_USER,
            "in_flight_turns": settings.COPILOT_MAX_IN_FLIGHT_TURNS_PER_USER,
            "day_budget": None if budget.day is None else float(budget.day),
            "month_budget": None if budget.month is None else float(budget.month),
        }

    def get_admin_url(self, user: User) -> str:
        return reverse("admin:index") if user.is_staff else ""

    def update(self, instance: User, validated_data: dict[str, Any]) -> User:
        """Record the time of a time zone change, which must not start a new budget day."""
        changes = dict(validated_data)
        if changes.get("time_zone", instance.time_zone) != instance.time_zone:
            changes["time_zone_changed_at"] = timezone.now()
        for name, value in changes.items():
            setattr(instance, name, value)
        instance.save(update_fields=list(changes))
        return instance


class Me(APIView):
    """The person asking."""

    @extend_schema(summary="Get your profile", responses=MeSerializer)
    @method_decorator(ensure_csrf_cookie)
    def get(self, request: Request) -> Response:
        """Return the logged-in user. Browsers also get the CSRF cookie that changes need."""
        return Response(MeSerializer(current_user(request)).data)

    @extend_schema(summary="Change your profile", request=MeSerializer, responses=MeSerializer)
    def patch(self, request: Request) -> Response:
        """Change e-mail address, time zone, theme, instructions, or the model that answers where none is picked."""
        form = MeSerializer(current_user(request), data=request.data, partial=True)
        form.is_valid(raise_exception=True)
        form.save()
        return Response(form.data)
