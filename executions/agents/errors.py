"""Refusals about agents.

Refusal
├── AgentMissing           404  does not exist, or belongs to another user
├── VersionMissing         404
├── ListingMissing         404
└── AgentError             400
    ├── NotAGraph          400  not agent JSON
    ├── GraphTooLarge      413  too many nodes, links or bytes
    ├── QueryTooLong       400
    ├── VersionMoved       409  another version was saved meanwhile
    ├── NotPublishable     409  the agent cannot run
    └── SlugTaken          409  the name in the store belongs to another of your agents
"""

from __future__ import annotations

from http import HTTPStatus

from durable.errors import NotFound, Refusal
from executions import limits


class AgentMissing(NotFound):
    """There is no such agent in your library."""


class VersionMissing(NotFound):
    """The agent has no such version."""


class ListingMissing(NotFound):
    """There is no such agent in the store."""


class AgentError(Refusal):
    """The agent could not be handled."""

    code = "agent_error"


class NotAGraph(AgentError):
    """This is not agent JSON: it must be an object with a list of `nodes` and a list of `links`."""

    code = "not_a_graph"


class GraphTooLarge(AgentError):
    """The agent is too large. Split it into several agents."""

    status = HTTPStatus.REQUEST_ENTITY_TOO_LARGE
    code = "graph_too_large"


class QueryTooLong(AgentError):
    """The search term is too long."""

    code = "query_too_long"

    def __init__(self) -> None:
        super().__init__(
            f"Search with at most {limits.MAX_QUERY_CHARACTERS} characters: a few words are enough."
        )


class VersionMoved(AgentError):
    """The agent has a newer version than the one this change is based on. Load it and repeat the change."""

    status = HTTPStatus.CONFLICT
    code = "version_moved"


class NotPublishable(AgentError):
    """An agent that cannot run cannot be published. Fix what validation reports first."""

    status = HTTPStatus.CONFLICT
    code = "not_publishable"


class SlugTaken(AgentError):
    """Another of your agents is published under this name. Choose another slug."""

    status = HTTPStatus.CONFLICT
    code = "slug_taken"
