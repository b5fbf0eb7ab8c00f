"""/api/agents: list, import, read, change, delete, export, validate and fix the agents of a library."""

from __future__ import annotations

import uuid
from typing import Any

from django.utils.http import content_disposition_header
from django.utils.text import slugify
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers, status
from rest_framework.exceptions import ValidationError
from rest_framework.generics import GenericAPIView
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.api.authentication import current_user
from accounts.api.throttling import WriteRate
from executions import limits
from executions.agents import library, versions
from executions.agents.agent_export import export_version
from executions.agents.agent_import import import_agent
from executions.agents.repair import fix_graph
from executions.agents.save import Storing
from executions.api.agent_serializers import (
    AgentChange,
    AgentDetail,
    AgentShape,
    AgentUses,
    FixedShape,
    FixOrder,
    ValidationShape,
    detail_of,
    fixes_of,
)
from executions.graph import graph_to_json, parse_graph
from executions.models import Agent, AgentVersion

SEARCH = OpenApiParameter("search", str, description="Words of the name or description; tolerant of typos.")
VERSION = OpenApiParameter("version", int, description="Default: the newest.")


class AgentView(APIView):
    """Base of views on the user's own agents."""

    throttle_classes = [WriteRate]

    def agent(self, pk: uuid.UUID) -> Agent:
        return library.get_agent(current_user(self.request), pk)

    def version(self, pk: uuid.UUID) -> AgentVersion:
        """Return the version given by `?version=`, by default the newest."""
        return versions.get_version(self.agent(pk), read_number(self.request, "version"))


class Agents(AgentView, GenericAPIView[Agent]):
    """The library."""

    queryset = Agent.objects.none()
    serializer_class = AgentShape

    @extend_schema(summary="List agents", parameters=[SEARCH], responses=AgentShape(many=True))
    def get(self, request: Request) -> Response:
        """List your agents, last changed first; with `search`, the matches, best first."""
        user, words = current_user(request), request.query_params.get("search", "")
        if words.strip():
            ranked = library.search_library(user, words, most=limits.MAX_SEARCHED_ROWS)
            page = self.paginate_queryset([match.item for match in ranked]) or []
        else:
            page = self.paginate_queryset(library.agents_of(user)) or []
        return self.get_paginated_response(shown(list(page)))

    @extend_schema(summary="Import an agent", request=OpenApiTypes.OBJECT, responses={201: AgentDetail})
    def post(self, request: Request) -> Response:
        """Import agent JSON as a new agent. It need not be able to run yet: `validation` lists the problems."""
        stored = import_agent(current_user(request), request.data)
        return Response(detail_of(stored.version, stored.report), status=status.HTTP_201_CREATED)


class OneAgent(AgentView):
    """One agent."""

    @extend_schema(summary="Get an agent", responses=AgentDetail)
    def get(self, request: Request, pk: uuid.UUID) -> Response:
        """Return the agent with its graph and validation report."""
        return Response(detail_of(versions.get_version(self.agent(pk))))

    @extend_schema(summary="Change an agent", request=AgentChange, responses=AgentDetail)
    def patch(self, request: Request, pk: uuid.UUID) -> Response:
        """Rename it, describe it, or save a new graph as its next version."""
        agent, change = self.agent(pk), read_form(AgentChange, request.data)
        if "graph" in change:
            how = Storing(note=change["note"])
            versions.save_graph(agent, change["graph"], on_version=change.get("on_version"), how=how)
            agent = self.agent(pk)
        if {"name", "description"} & change.keys():
            library.change_agent(agent, name=change.get("name"), description=change.get("description"))
        return Response(detail_of(versions.get_version(agent)))

    @extend_schema(summary="Delete an agent", responses={204: None})
    def delete(self, request: Request, pk: uuid.UUID) -> Response:
        """Remove the agent from the library; its executions stay."""
        library.remove_agent(self.agent(pk))
        return Response(status=status.HTTP_204_NO_CONTENT)


class UsesOfAgent(AgentView):
    """What uses an agent."""

    @extend_schema(summary="Get what uses an agent", responses=AgentUses)
    def get(self, request: Request, pk: uuid.UUID) -> Response:
        """Count the schedules and triggers that start it, and name its listings in the store."""
        return Response(AgentUses(library.uses_of(self.agent(pk))).data)


class ExportAgent(AgentView):
    """An agent as a document."""

    @extend_schema(summary="Export an agent", parameters=[VERSION], responses=OpenApiTypes.OBJECT)
    def get(self, request: Request, pk: uuid.UUID) -> Response:
        """Return agent JSON with its sub-agents, without secrets, for import elsewhere."""
        version = self.version(pk)
        name = f"{slugify(version.agent.name) or 'agent'}.json"
        headers = {"Content-Disposition": content_disposition_header(True, name) or "attachment"}
        return Response(export_version(version), headers=headers)


class ValidateAgent(AgentView):
    """Validate a saved version again."""

    @extend_schema(summary="Validate an agent", request=None, parameters=[VERSION], responses=ValidationShape)
    def post(self, request: Request, pk: uuid.UUID) -> Response:
        """Return all problems. Blocks and sub-agents may have changed since the version was saved."""
        return Response(versions.validate_version(self.version(pk)).as_json())


class FixAgent(AgentView):
    """Repairs."""

    @extend_schema(summary="Fix an agent", request=FixOrder, responses=FixedShape)
    def post(self, request: Request, pk: uuid.UUID) -> Response:
        """Fix what can be fixed without guessing, save it as a new version, and return the repairs."""
        order, newest = read_form(FixOrder, request.data), versions.get_version(self.agent(pk))
        graph, fixes = fix_graph(parse_graph(newest.graph))
        if fixes and order["save"]:
            note = f"Fixed: {'; '.join(fix.message for fix in fixes)}"
            stored = versions.save_parsed(
                newest.agent,
                graph,
                on_version=newest.version,
                how=Storing(note=note, outside_sources=tuple(newest.outside_sources)),
            )
            newest, graph = stored.version, parse_graph(stored.version.graph)
        report = versions.validate_graph(newest.agent.user, graph)
        answer = {"fixes": fixes_of(fixes), "changed": bool(fixes), "version": newest.version}
        return Response(answer | {"validation": report.as_json(), "graph": graph_to_json(graph)})


def shown(agents: list[Agent]) -> list[dict[str, Any]]:
    found = library.newest_versions(agents)
    return [dict(AgentShape(agent, context={"versions": found}).data) for agent in agents]


def read_form(form: type[serializers.Serializer[Any]], data: Any) -> dict[str, Any]:
    """Return the validated data of a request body; raises ValidationError."""
    filled = form(data=data)
    filled.is_valid(raise_exception=True)
    values: dict[str, Any] = filled.validated_data
    return values


def read_number(request: Request, name: str) -> int | None:
    """Return an integer from the query string; raises ValidationError."""
    text = request.query_params.get(name, "")
    if not text:
        return None
    if not text.isascii() or not text.isdigit() or len(text) > 9:
        raise ValidationError({name: ["This is not a whole number."]})
    return int(text)
