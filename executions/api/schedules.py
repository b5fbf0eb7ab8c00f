"""/api/schedules: list, create, change, run and delete the user's schedules."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema, extend_schema_view
from rest_framework import generics, serializers, status
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.api.authentication import current_user
from accounts.api.throttling import WriteRate
from executions import limits
from executions.api.own_agents import AgentRemovedField, OwnAgentField
from executions.errors import BadCron
from executions.models import Schedule
from executions.schedules import actions
from executions.schedules.run_due import cron_of, run_now


class ScheduleSerializer(serializers.ModelSerializer[Schedule]):
    """A schedule: the agent, when it runs, and how its last run started."""

    agent_id = OwnAgentField(source="agent")
    agent_name = serializers.CharField(source="agent.name", read_only=True)
    agent_removed = AgentRemovedField()
    version = serializers.IntegerField(
        min_value=1, allow_null=True, required=False, help_text="Null: the newest version at each run."
    )
    cron = serializers.CharField(
        max_length=1_000, help_text="minute hour day month weekday, such as `0 9 * * mon-fri`."
    )
    timezone = serializers.CharField(
        max_length=64, required=False, help_text="An IANA name; default: your own time zone."
    )
    words = serializers.SerializerMethodField(help_text="The cron expression in words.")
    inputs = serializers.DictField(required=False)
    last_execution_id = serializers.UUIDField(read_only=True, allow_null=True)
    last_error = serializers.SerializerMethodField(help_text="Why the last run could not be started.")

    class Meta:
        model = Schedule
        fields = [
            "id",
            "name",
            "agent_id",
            "agent_name",
            "agent_removed",
            "version",
            "cron",
            "timezone",
            "words",
            "inputs",
            "enabled",
            "next_run_at",
            "last_due_at",
            "last_execution_id",
            "last_error",
            "session_id",
            "created_at",
        ]
        read_only_fields = ["next_run_at", "last_due_at", "session_id", "created_at"]

    def get_words(self, schedule: Schedule) -> str | None:
        try:
            return cron_of(schedule).words
        except BadCron:
            return None

    def get_last_error(self, schedule: Schedule) -> str | None:
        return schedule.last_error or None


class ScheduleChangeForm(ScheduleSerializer):
    """A schedule's changeable fields; the agent is not one of them."""

    agent_id = OwnAgentField(source="agent", read_only=True)


class RunForm(serializers.Serializer[Any]):
    client_id = serializers.CharField(
        max_length=limits.MAX_CLIENT_ID_CHARACTERS,
        required=False,
        allow_blank=True,
        default="",
        help_text="Idempotency key: a repeated request returns the same execution.",
    )


class RunAnswer(serializers.Serializer[Any]):
    execution_id = serializers.UUIDField(source="pk")
    status = serializers.CharField()


class OwnSchedules(generics.GenericAPIView[Schedule]):
    """Base of views on the user's own schedules."""

    queryset = Schedule.objects.none()
    serializer_class = ScheduleSerializer
    throttle_classes = [WriteRate]

    def get_queryset(self) -> QuerySet[Schedule]:
        own = Schedule.objects.filter(user=current_user(self.request)).order_by("-created_at")
        return own.select_related("agent", "user", "periodic_task__crontab")


@extend_schema_view(get=extend_schema(summary="List schedules", description="Your schedules."))
class Schedules(OwnSchedules, generics.ListAPIView[Schedule]):
    """List schedules; create one."""

    @extend_schema(summary="Create a schedule", responses={201: ScheduleSerializer})
    def post(self, request: Request) -> Response:
        """Create a schedule that runs an agent at set times."""
        form = self.get_serializer(data=request.data)
        form.is_valid(raise_exception=True)
        made = actions.create(current_user(request), actions.NewSchedule(**form.validated_data))
        return Response(self.get_serializer(made).data, status=status.HTTP_201_CREATED)


@extend_schema_view(get=extend_schema(summary="Get a schedule", description="One schedule."))
class OneSchedule(OwnSchedules, generics.RetrieveAPIView[Schedule]):
    """One schedule."""

    @extend_schema(summary="Change a schedule", request=ScheduleChangeForm)
    def patch(self, request: Request, **kwargs: Any) -> Response:
        """Change the schedule, or switch it on and off. Runs missed while it was off are not made up."""
        schedule = self.get_object()
        form = ScheduleChangeForm(
            schedule, data=request.data, partial=True, context=self.get_serializer_context()
        )
        form.is_valid(raise_exception=True)
        return Response(self.get_serializer(actions.change(schedule, **form.validated_data)).data)

    @extend_schema(summary="Delete a schedule", responses={204: None})
    def delete(self, request: Request, **kwargs: Any) -> Response:
        """Delete the schedule; executions it started continue."""
        actions.delete(self.get_object())
        return Response(status=status.HTTP_204_NO_CONTENT)


class RunNow(OwnSchedules):
    """Run a schedule now."""

    @extend_schema(summary="Run a schedule now", request=RunForm, responses={202: RunAnswer})
    def post(self, request: Request, **kwargs: Any) -> Response:
        """Start an execution now, whether or not the schedule is due or switched on."""
        schedule = self.get_object()
        form = RunForm(data=request.data)
        form.is_valid(raise_exception=True)
        execution = run_now(schedule, client_id=form.validated_data["client_id"])
        return Response(RunAnswer(execution).data, status=status.HTTP_202_ACCEPTED)
