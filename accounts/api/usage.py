"""/api/usage: tokens, cost and credits by day, against the budget."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import OpenApiParameter, extend_schema, inline_serializer
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.api.authentication import current_user
from accounts.budgets import Allowance, UsageTotals, allowances, usage_by_day
from accounts.limits import MAX_USAGE_DAYS, USAGE_DAYS


class UsageSerializer(serializers.Serializer[UsageTotals]):
    """Tokens, and their cost in US dollars and in credits (a hundred to the dollar)."""

    input_tokens = serializers.IntegerField()
    output_tokens = serializers.IntegerField()
    cost = serializers.FloatField()
    credits = serializers.FloatField()


class DaySerializer(UsageSerializer):
    """One day of the person's own calendar."""

    date = serializers.DateField()


class AllowanceSerializer(serializers.Serializer[Allowance]):
    """A limit in US dollars (null: none), the amount spent, and when it resets."""

    limit = serializers.FloatField(allow_null=True)
    spent = serializers.FloatField()
    resets_at = serializers.DateTimeField()


BUDGET = inline_serializer("BudgetState", {"day": AllowanceSerializer(), "month": AllowanceSerializer()})
ANSWER = inline_serializer(
    "UsageAnswer", {"days": DaySerializer(many=True), "totals": UsageSerializer(), "budget": BUDGET}
)
DAYS = OpenApiParameter(
    "days", int, description=f"1 to {MAX_USAGE_DAYS}, today included.", default=USAGE_DAYS
)


class UsageByDay(APIView):
    """What the person asking used."""

    @extend_schema(summary="Get usage by day", parameters=[DAYS], responses=ANSWER)
    def get(self, request: Request) -> Response:
        """Usage of the last days, oldest first, in the user's time zone."""
        user = current_user(request)
        days = usage_by_day(user, asked_days(request))
        day, month = allowances(user)
        return Response(
            {
                "days": [{"date": entry.date} | numbers(entry.usage) for entry in days],
                "totals": numbers(sum((entry.usage for entry in days), UsageTotals())),
                "budget": {"day": state(day), "month": state(month)},
            }
        )


def asked_days(request: Request) -> int:
    text = request.query_params.get("days", str(USAGE_DAYS))
    try:
        return int(text[:20])
    except ValueError:
        raise serializers.ValidationError({"days": ["This is not a whole number."]}) from None


def numbers(usage: UsageTotals) -> dict[str, Any]:
    return {
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "cost": float(usage.cost),
        "credits": float(usage.credits),
    }


def state(allowance: Allowance) -> dict[str, Any]:
    return {
        "limit": None if allowance.limit is None else float(allowance.limit),
        "spent": float(allowance.spent),
        "resets_at": allowance.period.resets_at,
    }
