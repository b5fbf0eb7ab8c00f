"""What can be wrong with a request about agents.

APIException (status, code, text)
├── AgentMissing           404  not there, or not yours
├── VersionMissing         404
├── ListingMissing         404
└── AgentError             400
    ├── NotAGraph          400  it is no agent JSON at all
    ├── GraphTooLarge      413  too many nodes, links or bytes
    ├── QueryTooLong       400
    ├── VersionMoved       409  somebody saved another version meanwhile
    ├── NotPublishable     409  the agent cannot run, so nobody else should have it
    └── SlugTaken          409  the name in the store belongs to another of your agents
"""

from __future__ import annotations

from rest_framework import status
from rest_framework.exceptions import APIException, NotFound

from durable import limits


class AgentMissing(NotFound):
    """There is no such agent in your library."""

    default_detail = __doc__


class VersionMissing(NotFound):
    """The agent has no such version."""

    default_detail = __doc__


class ListingMissing(NotFound):
    """There is no such agent in the store."""

    default_detail = __doc__


class AgentError(APIException):
    """The agent could not be handled."""

    status_code: int = status.HTTP_400_BAD_REQUEST
    default_code = "agent_error"
    default_detail = __doc__


class NotAGraph(AgentError):
    """This is no agent JSON: it needs an object with a list of `nodes` and a list of `links`."""

    default_code = "not_a_graph"
    default_detail = __doc__


class GraphTooLarge(AgentError):
    """The agent is too large. Split it into several agents."""

    status_code = status.HTTP_413_REQUEST_ENTITY_TOO_LARGE
    default_code = "graph_too_large"
    default_detail = __doc__


class QueryTooLong(AgentError):
    """The search term is too long."""

    default_code = "query_too_long"
    default_detail = f"Search with at most {limits.MAX_QUERY_CHARACTERS} characters: a few words are enough."


class VersionMoved(AgentError):
    """The agent has a newer version than the one this change was made on. Load it and change that."""

    status_code = status.HTTP_409_CONFLICT
    default_code = "version_moved"
    default_detail = __doc__


class NotPublishable(AgentError):
    """An agent that cannot run cannot be published. Mend what validation reports first."""

    status_code = status.HTTP_409_CONFLICT
    default_code = "not_publishable"
    default_detail = __doc__


class SlugTaken(AgentError):
    """Another of your agents is published under this name. Choose another slug."""

    status_code = status.HTTP_409_CONFLICT
    default_code = "slug_taken"
    default_detail = __doc__
