"""Refusals about executions, reviews, schedules and triggers.

Refusal
├── BadInputs             400  with what is wrong with each input
├── ExecutionError        400
│   ├── CannotRun         409  the agent has problems, or is started only from outside
│   ├── BlockDenied       403  it uses a block that this session may not use
│   ├── TooDeep           409  agents run agents run agents ...
│   ├── TooManyExecutions 429
│   ├── NotAlone          400  a block that only works inside an agent
│   └── BlockRefused      any  what a worker refused, for whoever waits for it
├── AlreadyDecided        409  somebody was first, the review expired, or what asked has ended
├── NotEditable           400  the data of a review may be looked at, not changed
├── BadCron               400  no cron expression, one that is never due, or one that is due too often
├── TooManySchedules      409
├── UnknownHook           404  no such address, or it is switched off
├── WrongSignature        401
├── CallTooLarge          413  refused before it is read
├── BadPayload            400  it is not what its content type says
├── TooManyCalls          429
├── TooManyTriggers       409
├── BadTrigger            400  the secret or the node does not fit
└── NotReplayable         409  it was refused, so it has no body; or it is on its way
"""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus

from durable.refusals import InvalidFields, NotFound, Refusal


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


class AlreadyDecided(Refusal):
    """This review has been decided already."""

    status = HTTPStatus.CONFLICT
    code = "already_decided"


class NotEditable(Refusal):
    """The data of this review may not be changed. Approve or reject it as it is."""

    code = "not_editable"


class BadCron(InvalidFields):
    """The cron expression cannot be used."""

    def __init__(self, message: str, *, field: str = "cron") -> None:
        super().__init__({field: [message]})


class TooManySchedules(Refusal):
    """You have as many schedules as one person may have."""

    status = HTTPStatus.CONFLICT
    code = "too_many_schedules"
    hint = "Delete one you no longer need, then make the new one."


class UnknownHook(NotFound):
    """There is nothing here."""


class WrongSignature(Refusal):
    """The call is not signed as this address wants it, or too long ago."""

    status = HTTPStatus.UNAUTHORIZED
    code = "wrong_signature"


class CallTooLarge(Refusal):
    """The body is too large. Send a reference to what is large instead."""

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
    """You have as many triggers as one person may have."""

    status = HTTPStatus.CONFLICT
    code = "too_many_triggers"
    hint = "Delete one you no longer need, then make the new one."


class BadTrigger(Refusal):
    """The trigger cannot be made like this."""

    code = "bad_trigger"


class NotReplayable(Refusal):
    """This call cannot be replayed."""

    status = HTTPStatus.CONFLICT
    code = "not_replayable"
