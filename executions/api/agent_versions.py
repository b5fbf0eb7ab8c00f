"""/api/agents/{id}/versions: list, read and compare versions, and roll back."""

from __future__ import annotations

import uuid

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.exceptions import ValidationError
from rest_framework.generics import GenericAPIView
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.api.authentication import current_user
from executions.agents import library, versions
from executions.agents.diff import compare
from executions.api.agent_serializers import (
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

FROM = OpenApiParameter("from", int, description="The older version; default: the one before `to`.")
TO = OpenApiParameter("to", int, description="The newer version; default: the newest.")


class Versions(AgentView, GenericAPIView[AgentVersion]):
    """The versions of an agent."""

    queryset = AgentVersion.objects.none()
    serializer_class = VersionShape

    @extend_schema(summary="List versions of an agent", responses=VersionShape(many=True))
    def get(self, request: Request, pk: uuid.UUID) -> Response:
        """List the versions without their graphs, newest first."""
        page = self.paginate_queryset(versions.versions_of(self.agent(pk)).defer("graph"))
        return self.get_paginated_response(VersionShape(page, many=True).data)


class OneVersion(AgentView):
    """One version."""

    @extend_schema(summary="Get a version of an agent", responses=VersionDetail)
    def get(self, request: Request, pk: uuid.UUID, number: int) -> Response:
        """Return the version with its graph, also of an agent that was deleted: its past runs remain."""
        version = versions.get_version(library.get_kept_agent(current_user(request), pk), number)
        more = {
            name: getattr(version, name) for name in ("input_schema", "output_schema", "sub_agents", "graph")
        }
        return Response({**VersionShape(version).data, **more, "validation": validation_of(version)})


class Diff(AgentView):
    """The difference between two versions."""

    @extend_schema(summary="Compare two versions", parameters=[FROM, TO], responses=DifferenceShape)
    def get(self, request: Request, pk: uuid.UUID) -> Response:
        """Return the nodes and links that were added, removed or changed between two versions."""
        agent = self.agent(pk)
        newer = versions.get_version(agent, read_number(request, "to"))
        number = read_number(request, "from")
        older = versions.get_version(agent, number) if number else versions.version_before(newer)
        if older is None:
            raise ValidationError(
                {"from": ["There is no version before that one. Give the version to compare with."]}
            )
        difference = compare(parse_graph(older.graph), parse_graph(newer.graph))
        numbers = {"from_version": older.version, "to_version": newer.version}
        return Response(numbers | difference.as_json())


class Rollback(AgentView):
    """Roll back to an older version."""

    @extend_schema(summary="Roll back to a version", request=RollBack, responses=AgentDetail)
    def post(self, request: Request, pk: uuid.UUID) -> Response:
        """Save the graph of an older version as the newest version."""
        stored = versions.roll_back(self.agent(pk), read_form(RollBack, request.data)["version"])
        return Response(detail_of(stored.version, stored.report))
