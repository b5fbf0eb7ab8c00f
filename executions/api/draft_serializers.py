"""Serializers of the drafts API."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from executions import limits
from executions.agents.schemas import schemas_of
from executions.agents.validation import Problem, ValidationReport
from executions.api.agent_serializers import ProblemShape, ValidationShape
from executions.drafts.actions import is_changed
from executions.graph import parse_graph
from executions.models import AgentDraft


class ProposalShape(serializers.Serializer[Any]):
    """A change that the copilot proposes."""

    key = serializers.CharField()
    summary = serializers.CharField()
    base = serializers.DictField(help_text="The graph that it changes.")
    graph = serializers.DictField(help_text="The graph after the change.")


class DraftShape(serializers.Serializer[Any]):
    """The draft of an agent; without a saved one, its newest version under the revision 0."""

    agent_id = serializers.UUIDField()
    name = serializers.CharField()
    description = serializers.CharField()
    revision = serializers.IntegerField(help_text="To be sent with the next save.")
    base_version = serializers.IntegerField(help_text="The version that the draft is a change of.")
    latest_version = serializers.IntegerField(help_text="The agent's newest version.")
    changed = serializers.BooleanField(help_text="Whether it differs from its base version.")
    graph = serializers.DictField()
    input_schema = serializers.DictField(help_text="JSON schema of its inputs.")
    validation = ValidationShape()
    removed = ProblemShape(many=True, help_text="Secrets that were not stored.")
    pinned = serializers.DictField(help_text="Pinned outputs by node id, as pairs of pin and value.")
    proposal = ProposalShape(allow_null=True)
    session_id = serializers.UUIDField(allow_null=True, help_text="The conversation beside the canvas.")


class DraftOrder(serializers.Serializer[Any]):
    """A draft to be saved."""

    graph = serializers.DictField()
    revision = serializers.IntegerField(min_value=0, help_text="The revision that it changes.")
    save_id = serializers.CharField(max_length=64, help_text="Idempotency key.")
    client_id = serializers.CharField(max_length=64, required=False, default="", help_text="Of the tab.")
    base_version = serializers.IntegerField(
        min_value=1, required=False, allow_null=True, help_text="After a merge with a newer version."
    )


class GraphOrder(serializers.Serializer[Any]):
    graph = serializers.DictField()


class PublishOrder(serializers.Serializer[Any]):
    revision = serializers.IntegerField(min_value=0)
    note = serializers.CharField(max_length=500, required=False, allow_blank=True, default="")


class EditorOrder(serializers.Serializer[Any]):
    """A tab that has the draft open."""

    client_id = serializers.CharField(max_length=64)
    device = serializers.CharField(max_length=100, required=False, allow_blank=True, default="")
    closed = serializers.BooleanField(required=False, default=False, help_text="It leaves.")


class EditorShape(serializers.Serializer[Any]):
    client_id = serializers.CharField()
    device = serializers.CharField()
    seen_at = serializers.DateTimeField()


class EditorsShape(serializers.Serializer[Any]):
    """The other tabs that have the draft open."""

    editors = EditorShape(many=True)


class DraftFixShape(serializers.Serializer[Any]):
    """A repaired or rearranged graph, not saved."""

    graph = serializers.DictField()
    fixes = ProblemShape(many=True)
    validation = ValidationShape()


class PinOrder(serializers.Serializer[Any]):
    """Outputs to pin: given as pairs, or those of the node in an execution."""

    outputs = serializers.ListField(
        child=serializers.ListField(child=serializers.JSONField(allow_null=True), min_length=2, max_length=2),
        required=False,
        max_length=limits.MAX_SHOWN_NODES,
    )
    execution_id = serializers.UUIDField(required=False, help_text="Pin what the node emitted there.")


class NodeRunOrder(serializers.Serializer[Any]):
    """Inputs of a single node; the rest comes from the draft, pinned outputs and the last run."""

    inputs = serializers.DictField(required=False, default=dict)
    client_id = serializers.CharField(max_length=limits.MAX_CLIENT_ID_CHARACTERS)


class ProposalAnswer(serializers.Serializer[Any]):
    key = serializers.CharField(max_length=64)


class SessionOrder(serializers.Serializer[Any]):
    session_id = serializers.UUIDField()


def draft_answer(
    draft: AgentDraft, report: ValidationReport, removed: tuple[Problem, ...] = ()
) -> dict[str, Any]:
    return {
        "agent_id": str(draft.agent_id),
        "name": draft.agent.name,
        "description": draft.agent.description,
        "revision": draft.revision,
        "base_version": draft.base_version,
        "latest_version": draft.agent.latest_version,
        "changed": is_changed(draft),
        "graph": draft.graph,
        "input_schema": schemas_of(parse_graph(draft.graph)).inputs,
        "validation": report.as_json(),
        "removed": [problem.as_json() for problem in removed],
        "pinned": draft.pinned,
        "proposal": draft.proposal,
        "session_id": str(draft.session_id) if draft.session_id else None,
    }
