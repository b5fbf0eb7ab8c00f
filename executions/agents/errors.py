"""What can be wrong with a request about agents.

APIException (status, code, text)
└── AgentError             400
    ├── NotAGraph          400  it is no agent JSON at all
    └── GraphTooLarge      413  too many nodes, links or bytes
"""

from __future__ import annotations

from rest_framework import status
from rest_framework.exceptions import APIException


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
