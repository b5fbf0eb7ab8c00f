"""Refusals about executions, reviews, schedules and triggers.

Refusal
├── BadInputs             400  with the problem of each input
├── ExecutionError        400
│   ├── CannotRun         409  the agent has problems, or is started only from outside
│   ├── BlockDenied       403  it uses a block that this session may not use
│   ├── AgentsTooDeep     409  agents that run agents are nested too deeply
│   ├── TooManyExecutions 429
│   ├── NotAlone          400  a block that only works inside an agent
│   └── BlockRefused      any  a worker's refusal, passed on to the waiting request
├── AlreadyDecided        409  decided, expired or withdrawn
├── NotEditable           400  the data may not be changed
├── NothingToRemember     400  the review is not about a tool
├── BadCron               400  not a cron expression, never due, or due too often
├── TooManySchedules      409
├── UnknownHook           404  no such address, or it is switched off
├── WrongSignature        401
├── CallTooLarge          413  refused before it is read
├── BadPayload            400  does not match its content type
├── TooManyCalls          429
├── TooManyTriggers       409
├── BadTrigger            400  the secret or the node does not fit
└── NotReplayable         409  refused, so it has no body; or not started yet
"""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus

from durable.errors import InvalidFields, NotFound, Refusal


class BadInputs(InvalidFields):
    """The inputs do not fit."""

    def __init__(self, problems: Mapping[str, str]) -> None:
        self.problems = dict(problems)
        super().__init__({f"inputs.{name}": [text] for name, text in self.problems.items()})
        self.message = " ".join(f"{name}: {text}" for name, text in self.problems.items())

    def __str__(self) -> str:
        """Name each input: a log of calls or runs shows nothing but this text."""
        return self.message


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


class AlreadyDecided(Refusal):
    """This review has been decided already."""

    status = HTTPStatus.CONFLICT
    code = "already_decided"


class NotEditable(Refusal):
    """The data of this review may not be changed. Approve or reject it as it is."""

    code = "not_editable"


class NothingToRemember(Refusal):
    """This decision counts once: it is not about a tool that is called again."""

    code = "nothing_to_remember"


class BadCron(InvalidFields):
    """The cron expression cannot be used."""

    def __init__(self, message: str, *, field: str = "cron") -> None:
        super().__init__({field: [message]})


class TooManySchedules(Refusal):
    """You have reached the maximum number of schedules."""

    status = HTTPStatus.CONFLICT
    code = "too_many_schedules"
    hint = "Delete one you no longer need, then create the new one."


class UnknownHook(NotFound):
    """There is nothing here."""


class WrongSignature(Refusal):
    """The signature is missing, wrong or too old."""

    status = HTTPStatus.UNAUTHORIZED
    code = "wrong_signature"


class CallTooLarge(Refusal):
    """The body is too large. Send a reference to the data instead."""

    status = HTTPStatus.REQUEST_ENTITY_TOO_LARGE
    code = "too_large"


class BadPayload(Refusal):
    """The body cannot be read."""

    code = "bad_payload"


class TooManyCalls(Refusal):
    """This address is called too often. Wait a little, then try again."""

    status = HTTPStatus.TOO_MANY_REQUESTS
    code = "too_many_calls"
    retry_after: float

    def __init__(self, *, retry_after: float) -> None:
        super().__init__()
        self.retry_after = retry_after


class TooManyTriggers(Refusal):
    """You have reached the maximum number of triggers."""

    status = HTTPStatus.CONFLICT
    code = "too_many_triggers"
    hint = "Delete one you no longer need, then create the new one."


class BadTrigger(Refusal):
    """The trigger cannot be created or changed like this."""

    code = "bad_trigger"


class NotReplayable(Refusal):
    """This call cannot be replayed."""

    status = HTTPStatus.CONFLICT
    code = "not_replayable"
