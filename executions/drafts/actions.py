"""Open, save, publish and discard the draft of an agent."""

from __future__ import annotations

from dataclasses import dataclass

from blocks.schema import JSON
from durable import crashpoints
from durable.database import in_transaction
from executions.agents.agent_json import read_agent_json
from executions.agents.save import Stored, Storing, clean
from executions.agents.validation import Problem, ValidationReport
from executions.agents.versions import get_version, is_same, lock, save_parsed, validate_graph
from executions.drafts.errors import DraftMoved
from executions.drafts.notifications import draft_changed
from executions.graph import Graph, graph_to_json, parse_graph
from executions.models import Agent, AgentDraft


@dataclass(frozen=True, kw_only=True)
class DraftSave:
    """A draft to be saved, by which tab and on which revision."""

    graph: JSON
    revision: int  # of the draft that it changes
    save_id: str  # idempotency key
    client_id: str = ""  # the tab, so that it can tell its own saves from others'
    base_version: int | None = None  # after a merge with a newer version


@dataclass(frozen=True, kw_only=True)
class SavedDraft:
    """A draft as it was stored, and the secrets that were removed."""

    draft: AgentDraft
    removed: tuple[Problem, ...] = ()


def open_draft(agent: Agent) -> AgentDraft:
    """Return the draft, or an unsaved one of the newest version; one without changes follows a newer version."""
    draft = AgentDraft.objects.select_related("agent", "agent__user").filter(agent=agent).first()
    if draft is None:
        newest = get_version(agent)
        return AgentDraft(agent=agent, graph=newest.graph, base_version=newest.version)
    if draft.base_version != agent.latest_version and not is_changed(draft):
        return _follow(agent)
    return draft


def is_changed(draft: AgentDraft) -> bool:
    """Return whether the draft differs from the version it is based on."""
    return not is_same(parse_graph(draft.graph), get_version(draft.agent, draft.base_version))


def validate_draft(draft: AgentDraft) -> ValidationReport:
    return validate_graph(draft.agent.user, parse_graph(draft.graph))


@in_transaction
def save_draft(agent: Agent, save: DraftSave) -> SavedDraft:
    """Store the graph as the next revision. Once per save_id: the same again answers what is stored.

    Raises NotAGraph, GraphTooLarge, or DraftMoved if the draft has another revision by now.
    """
    incoming = clean(read_agent_json(save.graph), Storing().registry)
    draft = lock_draft(agent)
    if draft.save_id == save.save_id and draft.revision == save.revision + 1:
        return SavedDraft(draft=draft, removed=incoming.warnings)
    if draft.revision != save.revision:
        raise DraftMoved
    if save.base_version is not None:
        draft.base_version = get_version(agent, save.base_version).version
    write_draft(draft, incoming.graph, save_id=save.save_id, client_id=save.client_id)
    crashpoints.reached("draft_saved")
    return SavedDraft(draft=draft, removed=incoming.warnings)


@in_transaction
def publish_draft(agent: Agent, revision: int, *, note: str = "") -> Stored:
    """Save the draft as the agent's next version; unchanged, it is none.

    Raises DraftMoved for another revision, and VersionMoved if the agent has a newer version than the draft's base.
    """
    draft = lock_draft(agent)
    if draft.revision != revision:
        raise DraftMoved
    graph = parse_graph(draft.graph)
    stored = save_parsed(draft.agent, graph, on_version=draft.base_version, how=Storing(note=note))
    draft.base_version = stored.version.version
    write_draft(draft, parse_graph(stored.version.graph))
    return stored


@in_transaction
def discard_draft(agent: Agent) -> AgentDraft:
    """Go back to the newest version; revision numbers go on, so that a save of what was discarded is refused."""
    return _reset(lock_draft(agent))


# --- rows ---------------------------------------------------------------------------------------


def lock_draft(agent: Agent) -> AgentDraft:
    """Return the draft's row for a change, made if there is none; writers take turns on the agent's row."""
    agent = lock(agent)
    draft = AgentDraft.objects.filter(agent=agent).first()
    if draft is None:
        newest = get_version(agent)
        draft = AgentDraft(agent=agent, graph=newest.graph, base_version=newest.version)
    draft.agent = agent
    return draft


def write_draft(draft: AgentDraft, graph: Graph, *, save_id: str = "", client_id: str = "") -> None:
    draft.graph = graph_to_json(graph)
    draft.revision += 1
    draft.save_id = save_id
    draft.save()
    draft_changed(draft, client_id)


@in_transaction
def _follow(agent: Agent) -> AgentDraft:
    draft = lock_draft(agent)
    return draft if is_changed(draft) else _reset(draft)


def _reset(draft: AgentDraft) -> AgentDraft:
    newest = get_version(draft.agent)
    draft.base_version = newest.version
    draft.proposal = None
    write_draft(draft, parse_graph(newest.graph))
    return draft
