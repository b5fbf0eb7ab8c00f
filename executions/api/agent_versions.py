"""/api/agents/{id}/versions: what an agent was, what changed, and going back."""

from __future__ import annotations

import uuid

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.exceptions import ValidationError
from rest_framework.generics import GenericAPIView
from rest_framework.request import Request
from rest_framework.response import Response

from executions.agents import versions
from executions.agents.diff import compare
from executions.api.agent_shapes import (
    AgentDetail,
    DifferenceShape,
    RollBack,
    VersionDetail,
    VersionShape,
    detail_of,
    validation_of,
)
from executions.api.agents import AgentView, read_form, read_number
from executions.graph import parse_graph
from executions.models import AgentVersion

FROM = OpenApiParameter("from", int, description="The older version; the one before `to` unless said.")
TO = OpenApiParameter("to", int, description="The newer version; the newest unless said.")


class Versions(AgentView, GenericAPIView[AgentVersion]):
    """The versions of an agent."""

    queryset = AgentVersion.objects.none()
    serializer_class = VersionShape

    @extend_schema(summary="List versions of an agent", responses=VersionShape(many=True))
    def get(self, request: Request, pk: uuid.UUID) -> Response:
        """The newest first, without their graphs."""
        page = self.paginate_queryset(versions.versions_of(self.agent(pk)).defer("graph"))
        return self.get_paginated_response(VersionShape(page, many=True).data)


class OneVersion(AgentView):
    """One version."""

    @extend_schema(summary="Get a version of an agent", responses=VersionDetail)
    def get(self, request: Request, pk: uuid.UUID, number: int) -> Response:
        """The version with its graph."""
        version = versions.get_version(self.agent(pk), number)
        more = {
            name: getattr(version, name) for name in ("input_schema", "output_schema", "sub_agents", "graph")
        }
        return Response({**VersionShape(version).data, **more, "validation": validation_of(version)})


class Diff(AgentView):
    """What changed."""

    @extend_schema(summary="Compare two versions", parameters=[FROM, TO], responses=DifferenceShape)
    def get(self, request: Request, pk: uuid.UUID) -> Response:
        """Nodes and links that came, went or differ between two versions, and in what."""
        agent = self.agent(pk)
        newer = versions.get_version(agent, read_number(request, "to"))
        number = read_number(request, "from")
        older = versions.get_version(agent, number) if number else versions.version_before(newer)
        if older is None:
            raise ValidationError(
                {"from": ["There is no version before that one. Say which to compare with."]}
            )
        difference = compare(parse_graph(older.graph), parse_graph(newer.graph))
        numbers = {"from_version": older.version, "to_version": newer.version}
        return Response(numbers | difference.as_json())


class Rollback(AgentView):
    """Going back."""

    @extend_schema(summary="Roll back to a version", request=RollBack, responses=AgentDetail)
    def post(self, request: Request, pk: uuid.UUID) -> Response:
        """Make the graph of an older version the newest version."""
        stored = versions.roll_back(self.agent(pk), read_form(RollBack, request.data)["version"])
        return Response(detail_of(stored.version, stored.report))
