"""/api/agents/{id}/draft: read, save, repair, lay out, publish and discard the draft of an agent."""

from __future__ import annotations

import uuid

from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response

from executions.agents.agent_json import read_agent_json
from executions.agents.repair import fix_graph
from executions.agents.repair.layout import arrange
from executions.agents.versions import validate_graph
from executions.api.agent_serializers import AgentDetail, detail_of, fixes_of
from executions.api.agents import AgentView, read_form
from executions.api.draft_serializers import (
    DraftFixShape,
    DraftOrder,
    DraftShape,
    EditorOrder,
    EditorShape,
    EditorsShape,
    GraphOrder,
    PublishOrder,
    draft_answer,
)
from executions.drafts import actions
from executions.drafts.editors import remove_editor, report_editor
from executions.graph import graph_to_json


class Draft(AgentView):
    """The draft of an agent."""

    @extend_schema(summary="Get the draft of an agent", responses=DraftShape)
    def get(self, request: Request, pk: uuid.UUID) -> Response:
        """Return the draft with its validation report; without one, the newest version under the revision 0."""
        draft = actions.open_draft(self.agent(pk))
        return Response(draft_answer(draft, actions.validate_draft(draft)))

    @extend_schema(summary="Save the draft of an agent", request=DraftOrder, responses=DraftShape)
    def put(self, request: Request, pk: uuid.UUID) -> Response:
        """Save it as the next revision: 409 `draft_moved` if it was saved elsewhere since. May be repeated."""
        agent, order = self.agent(pk), read_form(DraftOrder, request.data)
        saved = actions.save_draft(agent, actions.DraftSave(**order))
        return Response(draft_answer(saved.draft, actions.validate_draft(saved.draft), saved.removed))

    @extend_schema(summary="Discard the draft of an agent", responses=DraftShape)
    def delete(self, request: Request, pk: uuid.UUID) -> Response:
        """Go back to the newest version, which is returned as the draft."""
        draft = actions.discard_draft(self.agent(pk))
        return Response(draft_answer(draft, actions.validate_draft(draft)), status=status.HTTP_200_OK)


class PublishDraft(AgentView):
    """Make a draft a version."""

    @extend_schema(summary="Publish the draft of an agent", request=PublishOrder, responses=AgentDetail)
    def post(self, request: Request, pk: uuid.UUID) -> Response:
        """Save the draft as the next version; 409 if it was saved elsewhere, or if there is a newer version."""
        agent, order = self.agent(pk), read_form(PublishOrder, request.data)
        stored = actions.publish_draft(agent, order["revision"], note=order["note"])
        return Response(detail_of(stored.version, stored.report))


class FixDraft(AgentView):
    """Repairs of a graph that is being edited."""

    @extend_schema(summary="Repair a graph", request=GraphOrder, responses=DraftFixShape)
    def post(self, request: Request, pk: uuid.UUID) -> Response:
        """Return the graph with everything fixed that can be fixed without guessing; nothing is saved."""
        agent = self.agent(pk)
        graph, fixes = fix_graph(read_agent_json(read_form(GraphOrder, request.data)["graph"]))
        report = validate_graph(agent.user, graph)
        answer = {"graph": graph_to_json(graph), "fixes": fixes_of(fixes)}
        return Response(answer | {"validation": report.as_json()})


class ArrangeDraft(AgentView):
    """Layout of a graph that is being edited."""

    @extend_schema(summary="Lay out a graph", request=GraphOrder, responses=DraftFixShape)
    def post(self, request: Request, pk: uuid.UUID) -> Response:
        """Return the graph with a new position for every node, in the order of the data; nothing is saved."""
        agent = self.agent(pk)
        graph = arrange(read_agent_json(read_form(GraphOrder, request.data)["graph"]))
        report = validate_graph(agent.user, graph)
        return Response({"graph": graph_to_json(graph), "fixes": [], "validation": report.as_json()})


class DraftEditors(AgentView):
    """The tabs that have a draft open."""

    @extend_schema(summary="Report an open draft", request=EditorOrder, responses=EditorsShape)
    def post(self, request: Request, pk: uuid.UUID) -> Response:
        """Note that a tab has the draft open, or leaves it; return the others that have it open."""
        agent, order = self.agent(pk), read_form(EditorOrder, request.data)
        if order["closed"]:
            remove_editor(agent, order["client_id"])
            return Response({"editors": []})
        others = report_editor(agent, order["client_id"], order["device"])
        return Response({"editors": EditorShape(others, many=True).data})
