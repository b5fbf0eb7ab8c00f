"""/api/executions: run an agent, follow its progress, wait for it, cancel it."""

from __future__ import annotations

import math
import uuid
from typing import Any

from django.db.models import Exists, OuterRef, QuerySet
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_view
from rest_framework import generics, status
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.api.authentication import current_user
from accounts.api.long_poll import LongPollView, PendingResponse
from accounts.api.throttling import WriteRate
from executions import limits
from executions.agents.library import get_agent
from executions.api.execution_serializers import (
    ExecutionCancelled,
    ExecutionDetail,
    ExecutionOrder,
    ExecutionShape,
    NodeExecutionShape,
    RetryOrder,
)
from executions.cancellation import cancel
from executions.models import Execution, NodeExecution, Review
from executions.models.status import PublicStatus, has_public_status
from executions.retry import retry
from executions.start import ExecutionRequest, start
from executions.wait import execution_with_news, has_news

WAIT = OpenApiParameter(
    "wait",
    OpenApiTypes.FLOAT,
    description=f"Wait until it has ended or needs a person, for at most this many seconds "
    f"(0..{limits.MAX_TOOL_WAIT_SECONDS:.0f}).",
)
NODES = OpenApiParameter("nodes", OpenApiTypes.BOOL, description="Include the node executions.")
AGENT = OpenApiParameter("agent", OpenApiTypes.UUID, description="Only executions of this agent.")
STATUS = OpenApiParameter("status", OpenApiTypes.STR, enum=PublicStatus.values)
SOURCE = OpenApiParameter(
    "source", OpenApiTypes.STR, enum=Execution.Source.values, description="Only those started by this."
)


class ExecuteAgent(APIView):
    """Run an agent."""

    throttle_classes = [WriteRate]

    @extend_schema(
        summary="Run an agent", request=ExecutionOrder, responses={202: ExecutionShape, 200: ExecutionShape}
    )
    def post(self, request: Request, pk: uuid.UUID) -> Response:
        """Start an execution: 202 once it is committed, 200 when this `client_id` was sent before."""
        user = current_user(request)
        agent = get_agent(user, pk)
        form = ExecutionOrder(data=request.data)
        form.is_valid(raise_exception=True)
        given = form.validated_data
        order = ExecutionRequest(version=given.get("version"), client_id=given.get("client_id") or None)
        started = start(user, agent, given["inputs"], order)
        code = status.HTTP_202_ACCEPTED if started.created else status.HTTP_200_OK
        return Response(ExecutionShape(started.execution).data, status=code)


class OwnExecutions(generics.GenericAPIView[Execution]):
    """Base of views on the user's own executions."""

    queryset = Execution.objects.none()
    serializer_class = ExecutionShape
    throttle_classes = [WriteRate]

    def get_queryset(self) -> QuerySet[Execution]:
        rows = Execution.objects.filter(user=current_user(self.request)).order_by("-queued_at")
        refused = Review.objects.filter(execution=OuterRef("pk"), state=Review.State.REJECTED)
        return rows.select_related("agent", "parent").annotate(was_rejected=Exists(refused))


class Executions(OwnExecutions, generics.ListAPIView[Execution]):
    """List executions, newest first."""

    @extend_schema(summary="List executions", parameters=[AGENT, STATUS, SOURCE])
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """List your executions, newest first, without those of sub-agents, which belong to their parents."""
        return super().get(request, *args, **kwargs)

    def get_queryset(self) -> QuerySet[Execution]:
        rows, asked = super().get_queryset().filter(parent=None), self.request.query_params
        if wanted := asked.get("status"):
            if wanted not in PublicStatus.values:
                raise ValidationError({"status": [f"Use one of {', '.join(PublicStatus.values)}."]})
            rows = rows.filter(has_public_status(wanted))
        if source := asked.get("source"):
            if source not in Execution.Source.values:
                raise ValidationError({"source": [f"Use one of {', '.join(Execution.Source.values)}."]})
            rows = rows.filter(source=source)
        if agent := asked.get("agent"):
            rows = rows.filter(agent_id=read_uuid("agent", agent))
        return rows


class OneExecution(LongPollView, OwnExecutions):
    """One execution."""

    @extend_schema(
        summary="Get or wait for an execution", parameters=[WAIT, NODES], responses=ExecutionDetail
    )
    def get(self, request: Request, pk: uuid.UUID) -> HttpResponseBase:
        """Return status and outputs; with `wait`, once it has ended or needs a person."""
        found = self.get_object()
        seconds = read_seconds(request)
        if not seconds or has_news(found):
            return self.answer()
        return PendingResponse(
            owner=f"user:{found.user_id}",
            seconds=seconds,
            begin=lambda: (found.pk, lambda: execution_with_news(found.pk)),
            answer=self.answer,
        )

    def answer(self) -> Response:
        found = self.get_object()
        shown = dict(ExecutionShape(found).data)
        if self.request.query_params.get("nodes", "").lower() in ("1", "true", "yes"):
            rows = nodes_of(found)
            shown["node_count"] = rows.count()
            shown["nodes"] = NodeExecutionShape(rows[: limits.MAX_SHOWN_NODES], many=True).data
            shown["graph"] = found.graph
        return Response(shown)


@extend_schema_view(
    get=extend_schema(
        summary="List node executions",
        description="The node executions of an execution, in the order they started.",
    )
)
class Nodes(generics.ListAPIView[NodeExecution]):
    """List the node executions of an execution, in the order they started."""

    queryset = NodeExecution.objects.none()
    serializer_class = NodeExecutionShape

    def get_queryset(self) -> QuerySet[NodeExecution]:
        mine = Execution.objects.filter(user=current_user(self.request))
        return nodes_of(get_object_or_404(mine, pk=self.kwargs["pk"]))


class CancelExecution(OwnExecutions):
    """Cancel an execution."""

    @extend_schema(summary="Cancel an execution", request=None, responses=ExecutionCancelled)
    def post(self, request: Request, pk: uuid.UUID) -> Response:
        """Cancel it and its sub-agents, and return whether it has stopped. May be repeated."""
        answer = cancel(self.get_object().pk)
        shown: dict[str, Any] = {"cancelled": answer.cancelled}
        return Response(shown | {"reason": answer.reason} if answer.reason else shown)


class RetryExecution(OwnExecutions):
    """Retry an execution that failed."""

    @extend_schema(
        summary="Retry an execution from the node that failed",
        request=RetryOrder,
        responses={202: ExecutionShape, 200: ExecutionShape},
    )
    def post(self, request: Request, pk: uuid.UUID) -> Response:
        """Start an execution that takes over what had finished, free of charge, and runs only the rest.

        With `draft`, the agent's draft goes on in place of the graph that failed, if the nodes that had finished are
        unchanged in it; otherwise 409.
        """
        form = RetryOrder(data=request.data)
        form.is_valid(raise_exception=True)
        given = form.validated_data
        started = retry(
            self.get_object(), client_id=given.get("client_id") or None, with_draft=given["draft"]
        )
        code = status.HTTP_202_ACCEPTED if started.created else status.HTTP_200_OK
        return Response(ExecutionShape(started.execution).data, status=code)


def nodes_of(execution: Execution) -> QuerySet[NodeExecution]:
    return execution.nodes.order_by("queued_at", "id")


def read_seconds(request: Request) -> float:
    text = request.query_params.get("wait", "")
    try:
        seconds = float(text[:20]) if text else 0.0
    except ValueError:
        seconds = math.nan
    if not 0 <= seconds <= limits.MAX_TOOL_WAIT_SECONDS:
        raise ValidationError(
            {"wait": [f"Give a number of seconds from 0 to {limits.MAX_TOOL_WAIT_SECONDS:.0f}."]}
        )
    return seconds


def read_uuid(name: str, text: str) -> uuid.UUID:
    try:
        return uuid.UUID(text[:50])
    except ValueError:
        raise ValidationError({name: ["This is not an id."]}) from None
