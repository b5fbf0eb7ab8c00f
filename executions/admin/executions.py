"""Admin pages of executions, with the timeline of their nodes."""

from __future__ import annotations

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from durable.admin_jobs import AgeFilter, EndedFilter, JobActions, StuckFilter
from durable.admin_rows import PermanentRows, ViewOnlyRows, shown
from executions.cancellation import stop
from executions.models import Execution, NodeExecution
from executions.redaction import hide, shown_pairs
from executions.requeue import requeue

SHOWN_NODES = 200


@admin.register(Execution)
class ExecutionAdmin(PermanentRows, JobActions, admin.ModelAdmin):  # type: ignore[type-arg]
    """Executions and their results. Operators can cancel and requeue them."""

    list_display = [
        "short_id",
        "agent",
        "state",
        "end_reason",
        "user",
        "source",
        "age",
        "took",
        "attempt",
        "holder",
        "cost",
    ]
    list_filter = [
        "status",
        "end_reason",
        StuckFilter,
        AgeFilter,
        EndedFilter,
        ("user", admin.RelatedOnlyFieldListFilter),
        "source",
    ]
    list_select_related = ["agent", "user"]
    search_fields = ["=id", "=agent__id", "=session_id", "=client_id", "user__username", "agent__name"]
    ordering = ["-queued_at"]
    show_full_result_count = False
    actions = ["cancel", "requeue", "release", "mark_failed"]
    fields = readonly_fields = (
        "id",
        "agent",
        "version",
        "user",
        "status",
        "asks_person",
        "end_reason",
        "error",
        "source",
        "client_id",
        "session_id",
        "parent",
        "depth",
        "safe_mode",
        "attempt",
        "crashes",
        "owner",
        "lease_until",
        "run_at",
        "wakes",
        "cost",
        "worked_seconds",
        "queued_at",
        "started_at",
        "ended_at",
        "cancel_requested_at",
        "shown_inputs",
        "shown_outputs",
        "timeline",
    )

    def stop(self, job: Execution) -> bool:
        return stop(job.pk)

    @admin.action(description="Requeue: let another worker continue it now", permissions=["change"])
    def requeue(self, request: HttpRequest, executions: QuerySet[Execution]) -> None:
        given = [execution for execution in executions if requeue(execution.pk)]
        for execution in given:
            self.log_change(request, execution, "Requeued.")
        self.message_user(
            request,
            f"{len(given)} requeued; executions that wait for a person or have ended are unchanged.",
        )

    @admin.display(description="inputs")
    def shown_inputs(self, execution: Execution) -> str:
        return shown(hide(execution.inputs, execution.secrets))

    @admin.display(description="outputs")
    def shown_outputs(self, execution: Execution) -> str:
        return shown(hide(execution.outputs, execution.secrets))

    @admin.display(description="nodes")
    def timeline(self, execution: Execution) -> SafeString:
        """Return a table of the node executions in the order they started, with their durations."""
        rows = execution.nodes.order_by("queued_at", "id").defer("inputs", "outputs")
        lines = format_html_join("", ROW, (cells(node) for node in rows[:SHOWN_NODES]))
        left = max(rows.count() - SHOWN_NODES, 0)
        note = format_html("<p>And {} more.</p>", left) if left else ""
        return format_html("<table>{}{}</table>{}", HEAD, lines, note)


HEAD = format_html(
    "<tr><th>{}</th><th>{}</th><th>{}</th><th>{}</th><th>{}</th><th>{}</th></tr>",
    *("node", "run", "status", "began", "seconds", "error"),
)
ROW = '<tr><td><a href="{}">{}</a></td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>'


def cells(node: NodeExecution) -> tuple[object, ...]:
    took = ""
    if node.started_at and node.ended_at:
        took = f"{(node.ended_at - node.started_at).total_seconds():.3f}"
    began = node.started_at.strftime("%H:%M:%S.%f")[:-3] if node.started_at else ""
    status = f"{node.status} ({node.waits_for})" if node.waits_for else node.status
    address = reverse("admin:executions_nodeexecution_change", args=[node.pk])
    return address, node.node_id, node.run or "called", status, began, took, node.error


@admin.register(NodeExecution)
class NodeExecutionAdmin(ViewOnlyRows, admin.ModelAdmin):  # type: ignore[type-arg]
    """One run of one node with its inputs and outputs."""

    list_display = ["node_id", "run", "status", "execution", "attempt", "cost", "started_at", "ended_at"]
    list_filter = ["status", "waits_for"]
    search_fields = ["=id", "=execution__id", "=node_id", "=block_id"]
    ordering = ["-queued_at"]
    show_full_result_count = False
    fields = readonly_fields = (
        "id",
        "execution",
        "node_id",
        "block_id",
        "run",
        "caller",
        "seq",
        "status",
        "waits_for",
        "wake_at",
        "error",
        "attempt",
        "progress",
        "cost",
        "queued_at",
        "started_at",
        "ended_at",
        "shown_inputs",
        "shown_outputs",
    )

    @admin.display(description="inputs")
    def shown_inputs(self, node: NodeExecution) -> str:
        return shown(hide(node.inputs, node.execution.secrets))

    @admin.display(description="outputs")
    def shown_outputs(self, node: NodeExecution) -> str:
        return shown(shown_pairs(node.outputs, node.execution.secrets))
