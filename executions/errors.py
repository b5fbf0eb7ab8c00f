"""Refusals to run an agent or a block.

Refusal
├── BadInputs             400  with the problem of each input
└── ExecutionError        400
    ├── CannotRun         409  the agent has problems, or is started only from outside
    ├── BlockDenied       403  it uses a block that this session may not use
    ├── AgentsTooDeep     409  agents that run agents are nested too deeply
    ├── TooManyExecutions 429
    ├── NotAlone          400  a block that only works inside an agent
    └── BlockRefused      any  a worker's refusal, passed on to the waiting request
"""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus

from durable.refusals import InvalidFields, Refusal


class BadInputs(InvalidFields):
    """The inputs do not fit."""

    def __init__(self, problems: Mapping[str, str]) -> None:
        self.problems = dict(problems)
        super().__init__({f"inputs.{name}": [text] for name, text in self.problems.items()})


class ExecutionError(Refusal):
    """This cannot be run."""

    code = "execution_error"


class CannotRun(ExecutionError):
    """This agent cannot be run as it is."""

    status = HTTPStatus.CONFLICT
    code = "cannot_run"


class BlockDenied(ExecutionError):
    """This block may not be used here."""

    status = HTTPStatus.FORBIDDEN
    code = "block_denied"


class AgentsTooDeep(ExecutionError):
    """Agents that run agents are nested too deeply."""

    status = HTTPStatus.CONFLICT
    code = "too_deep"


class TooManyExecutions(ExecutionError):
    """You have too many running executions. Wait for some of them to end, or cancel them."""

    status = HTTPStatus.TOO_MANY_REQUESTS
    code = "too_many_executions"
    retry_after = 10


class NotAlone(ExecutionError):
    """This block only works inside an agent."""

    code = "not_alone"


class BlockRefused(ExecutionError):
    """A worker refused to run this block."""

    def __init__(self, *, status: int, code: str, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.status, self.code, self.hint = status, code, hint
