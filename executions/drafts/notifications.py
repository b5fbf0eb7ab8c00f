"""Push of changed drafts to the owner's open tabs: hints, sent after the commit."""

from __future__ import annotations

from django.db import transaction

from durable import client_push
from executions.models import AgentDraft


def draft_changed(draft: AgentDraft, client_id: str = "") -> None:
    """Tell open tabs of a new revision or proposal, and which tab made it."""
    push(
        draft.agent.user_id,
        "draft.updated",
        agent_id=str(draft.agent_id),
        revision=draft.revision,
        client_id=client_id,
        proposed=draft.proposal is not None,
    )


def editors_changed(user_id: int, agent_id: str) -> None:
    """Tell open tabs that another one opened or left the draft."""
    push(user_id, "draft.editors", agent_id=agent_id)


def push(user_id: int, kind: str, **facts: object) -> None:
    transaction.on_commit(lambda: client_push.push(f"user:{user_id}", kind, **facts), robust=True)
