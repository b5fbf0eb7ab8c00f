"""What can be wrong with a request to run something.

Refusal
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
    """This may not be used here."""

    status = HTTPStatus.FORBIDDEN
    code = "block_denied"


class AgentsTooDeep(ExecutionError):
    """Agents that run agents are nested too deeply."""

    status = HTTPStatus.CONFLICT
    code = "too_deep"


class TooManyExecutions(ExecutionError):
    """You have too many executions under way. Wait for some of them to end, or cancel them."""

    status = HTTPStatus.TOO_MANY_REQUESTS
    code = "too_many_executions"
    retry_after = 10


class NotAlone(ExecutionError):
    """This block only works inside an agent."""

    code = "not_alone"


class BlockRefused(ExecutionError):
    """A worker refused to run this block; its refusal, in its words."""

    def __init__(self, *, status: int, code: str, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.status, self.code, self.hint = status, code, hint
