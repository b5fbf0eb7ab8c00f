"""Serializers of the executions API."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from executions import limits
from executions.api.own_agents import AgentRemovedField
from executions.models import Execution, NodeExecution
from executions.models.status import PublicStatus
from executions.redaction import hide, shown_inputs, shown_outputs, shown_pairs


class ExecutionOrder(serializers.Serializer[Any]):
    """The inputs of an execution."""

    inputs = serializers.DictField(required=False, default=dict, help_text="Values by input name.")
    client_id = serializers.CharField(
        required=False,
        allow_blank=True,
        allow_null=True,
        max_length=limits.MAX_CLIENT_ID_CHARACTERS,
        help_text="Idempotency key: a repeated request returns the same execution.",
    )
    version = serializers.IntegerField(
        required=False, allow_null=True, min_value=1, help_text="Default: the newest version."
    )


class RetryOrder(serializers.Serializer[Any]):
    """How to retry an execution."""

    client_id = serializers.CharField(
        required=False,
        allow_blank=True,
        allow_null=True,
        max_length=limits.MAX_CLIENT_ID_CHARACTERS,
        help_text="Idempotency key: a repeated request returns the same execution.",
    )
    draft = serializers.BooleanField(
        required=False,
        default=False,
        help_text="Go on with the agent's draft instead of the graph that failed.",
    )


class NodeExecutionShape(serializers.ModelSerializer[NodeExecution]):
    """One run of one node; outputs are pairs of pin and value, in the order emitted."""

    inputs = serializers.SerializerMethodField()
    outputs = serializers.SerializerMethodField()
    error = serializers.SerializerMethodField()
    cost = serializers.DecimalField(max_digits=14, decimal_places=6, read_only=True)
    status = serializers.ChoiceField(choices=PublicStatus.choices, source="public_status", read_only=True)
    waits_for = serializers.CharField(read_only=True)

    class Meta:
        model = NodeExecution
        fields = [
            "id",
            "node_id",
            "block_id",
            "run",
            "caller_id",
            "status",
            "waits_for",
            "wake_at",
            "inputs",
            "outputs",
            "error",
            "progress",
            "cost",
            "attempt",
            "started_at",
            "ended_at",
        ]
        read_only_fields = fields

    def get_inputs(self, node: NodeExecution) -> dict[str, Any]:
        return shown_inputs(node.inputs, node.execution.secrets)

    def get_outputs(self, node: NodeExecution) -> list[list[Any]]:
        return shown_pairs(node.outputs, node.execution.secrets)

    def get_error(self, node: NodeExecution) -> str | None:
        return hide(node.error, node.execution.secrets) or None


class ExecutionShape(serializers.ModelSerializer[Execution]):
    """One run of an agent; `outputs` lists the values of each output in order."""

    agent_name = serializers.CharField(source="agent.name", read_only=True)
    inputs = serializers.SerializerMethodField()
    outputs = serializers.SerializerMethodField()
    status = serializers.ChoiceField(choices=PublicStatus.choices, source="public_status", read_only=True)
    source = serializers.ChoiceField(  # type: ignore[assignment]
        choices=Execution.Source.choices, read_only=True, help_text="What started it."
    )
    agent_removed = AgentRemovedField()
    rejected = serializers.SerializerMethodField(
        help_text="Whether a person rejected something that it asked."
    )
    error = serializers.SerializerMethodField()
    end_reason = serializers.SerializerMethodField()
    parent_id = serializers.UUIDField(
        source="parent.execution_id",
        default=None,
        allow_null=True,
        read_only=True,
        help_text="The execution that started this one as a sub-agent.",
    )

    retry_of_id = serializers.UUIDField(
        allow_null=True, read_only=True, help_text="The execution whose finished nodes it took over."
    )

    class Meta:
        model = Execution
        fields = [
            "id",
            "agent_id",
            "agent_name",
            "agent_removed",
            "version",
            "status",
            "rejected",
            "end_reason",
            "inputs",
            "outputs",
            "error",
            "source",
            "client_id",
            "session_id",
            "parent_id",
            "retry_of_id",
            "cost",
            "attempt",
            "queued_at",
            "started_at",
            "ended_at",
        ]
        read_only_fields = fields

    def get_inputs(self, execution: Execution) -> dict[str, Any]:
        return shown_inputs(execution.inputs, execution.secrets)

    def get_outputs(self, execution: Execution) -> dict[str, list[Any]]:
        return shown_outputs(execution.outputs, execution.secrets)

    def get_error(self, execution: Execution) -> str | None:
        return hide(execution.error, execution.secrets) or None

    def get_rejected(self, execution: Execution) -> bool:
        """Read what the query of a list added; an execution that has just started was asked nothing."""
        return bool(getattr(execution, "was_rejected", False))

    def get_end_reason(self, execution: Execution) -> str | None:
        return execution.end_reason or None


class ExecutionDetail(ExecutionShape):
    """An execution with its node executions, if requested."""

    nodes = NodeExecutionShape(many=True, required=False)
    node_count = serializers.IntegerField(required=False)
    graph = serializers.DictField(
        required=False,
        allow_null=True,
        help_text="The draft that was tested; null: the graph of the version.",
    )

    class Meta(ExecutionShape.Meta):
        fields = [*ExecutionShape.Meta.fields, "nodes", "node_count", "graph"]
        read_only_fields = fields


class ExecutionCancelled(serializers.Serializer[Any]):
    cancelled = serializers.BooleanField()
    reason = serializers.CharField(required=False, help_text="already_ended, already_cancelled")
