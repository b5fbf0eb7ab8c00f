"""Proposals of the copilot: changes of a draft that the person accepts or rejects in the builder."""

from __future__ import annotations

import uuid

from durable.database import in_transaction
from executions.agents.save import Storing, clean
from executions.drafts.actions import lock_draft
from executions.drafts.errors import ProposalMissing
from executions.drafts.notifications import draft_changed
from executions.graph import Graph, graph_to_json
from executions.models import Agent, AgentDraft


@in_transaction
def open_session(agent: Agent, session_id: uuid.UUID) -> AgentDraft:
    """Make a conversation the one beside the canvas: its edits of the agent become proposals."""
    draft = lock_draft(agent)
    draft.session_id = session_id
    draft.save()
    return draft


def draft_of_session(agent: Agent, session_id: uuid.UUID) -> AgentDraft | None:
    """Return the agent's draft if the conversation is the one beside its canvas."""
    return AgentDraft.objects.filter(agent=agent, session_id=session_id).first()


@in_transaction
def propose(agent: Agent, base: Graph, changed: Graph, *, summary: str, key: str) -> AgentDraft:
    """Store a change for the person to decide on, in place of an older one. Once per key."""
    draft = lock_draft(agent)
    if draft.proposal is not None and draft.proposal["key"] == key:
        return draft
    draft.proposal = {
        "key": key,
        "summary": summary[:2000],
        "base": graph_to_json(base),
        "graph": graph_to_json(clean(changed, Storing().registry).graph),
    }
    draft.save()
    draft_changed(draft)
    return draft


@in_transaction
def close_proposal(agent: Agent, key: str) -> AgentDraft:
    """Remove a proposal that was accepted, which is a save of its own, or rejected; raises ProposalMissing."""
    draft = lock_draft(agent)
    if draft.proposal is None or draft.proposal["key"] != key:
        raise ProposalMissing
    draft.proposal = None
    draft.save()
    draft_changed(draft)
    return draft
