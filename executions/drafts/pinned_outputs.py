"""Pinned outputs of a draft: what test runs use instead of running a node."""

from __future__ import annotations

import json
import uuid

from accounts.models import User
from blocks.schema import JSON
from durable import storable
from durable.database import in_transaction
from executions import limits
from executions.drafts.actions import lock_draft
from executions.drafts.errors import NodeMissing, PinsTooLarge
from executions.drafts.notifications import draft_changed
from executions.graph import parse_graph
from executions.models import Agent, AgentDraft, NodeExecution
from executions.redaction import shown_pairs

Pairs = list[list[JSON]]


@in_transaction
def pin_outputs(agent: Agent, node_id: str, pairs: Pairs) -> AgentDraft:
    """Pin outputs on a node of the draft, in place of older ones. Raises NodeMissing or PinsTooLarge."""
    draft = lock_draft(agent)
    if node_id not in parse_graph(draft.graph).nodes_by_id:
        raise NodeMissing
    draft.pinned = draft.pinned | {node_id: storable.json_value([[str(pin), value] for pin, value in pairs])}
    if len(json.dumps(draft.pinned)) > limits.MAX_PINNED_BYTES:
        raise PinsTooLarge
    draft.save()
    draft_changed(draft)
    return draft


@in_transaction
def unpin_outputs(agent: Agent, node_id: str) -> AgentDraft:
    """Let test runs run the node again. May be repeated."""
    draft = lock_draft(agent)
    draft.pinned = {key: pairs for key, pairs in draft.pinned.items() if key != node_id}
    draft.save()
    draft_changed(draft)
    return draft


def outputs_in(user: User, execution_id: uuid.UUID, node_id: str) -> Pairs:
    """Return what the first run of a node emitted in an execution, secrets hidden; raises NodeMissing."""
    rows = NodeExecution.objects.filter(execution=execution_id, execution__user=user, node_id=node_id)
    row = rows.filter(ended_at__isnull=False).select_related("execution").order_by("run").first()
    if row is None:
        raise NodeMissing("The node has not finished in that run.")
    return shown_pairs(row.outputs, row.execution.secrets)
