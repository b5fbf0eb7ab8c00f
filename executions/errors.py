"""What can be wrong with a request to run something.

APIException (status, code, text)
├── BadInputs             400  with what is wrong with each input
└── ExecutionError        400
    ├── CannotRun         409  the agent has problems, or is started only from outside
    ├── BlockDenied       403  it uses a block that this session may not use
    ├── TooDeep           409  agents run agents run agents ...
    ├── TooManyExecutions 429
    ├── NotAlone          400  a block that only works inside an agent
    └── BlockRefused      any  what a worker refused, for whoever waits for it
"""

from __future__ import annotations

from collections.abc import Mapping

from rest_framework import status
from rest_framework.exceptions import APIException, ValidationError


class BadInputs(ValidationError):
    """The inputs do not fit."""

    def __init__(self, problems: Mapping[str, str]) -> None:
        self.problems = dict(problems)
        super().__init__({"inputs": {name: [text] for name, text in self.problems.items()}})

    def __str__(self) -> str:
        return " ".join(self.problems.values())


class ExecutionError(APIException):
    """This cannot be run."""

    status_code: int = status.HTTP_400_BAD_REQUEST
    default_code = "execution_error"
    default_detail = __doc__


class CannotRun(ExecutionError):
    """This agent cannot be run as it is."""

    status_code = status.HTTP_409_CONFLICT
    default_code = "cannot_run"
    default_detail = __doc__


class BlockDenied(ExecutionError):
    """This may not be used here."""

    status_code = status.HTTP_403_FORBIDDEN
    default_code = "block_denied"
    default_detail = __doc__


class TooDeep(ExecutionError):
    """Agents that run agents are nested too deeply."""

    status_code = status.HTTP_409_CONFLICT
    default_code = "too_deep"
    default_detail = __doc__


class TooManyExecutions(ExecutionError):
    """You have too many executions under way. Wait for some of them to end, or cancel them."""

    status_code = status.HTTP_429_TOO_MANY_REQUESTS
    default_code = "too_many_executions"
    default_detail = __doc__
    wait = 10  # rendered as Retry-After


class NotAlone(ExecutionError):
    """This block only works inside an agent."""

    default_code = "not_alone"
    default_detail = __doc__


class BlockRefused(ExecutionError):
    """A worker refused to run this block; its refusal, in its words."""

    def __init__(self, *, status: int, code: str, message: str, hint: str = "") -> None:
        super().__init__(message, code)
        self.status_code = status
        self.hint = hint or None
