"""Errors of jobs, and errors that refuse a request by any channel: HTTP, websocket, tool call, schedule, admin.

DurableError
├── LeaseLost        another attempt owns the job now
├── JobCancelled     a person asked for the job to stop
├── HandOver         this worker is shutting down
├── JobTimedOut      a deadline passed
└── IllegalMove      the status table does not allow that change

Refusal              400
├── NotFound         404  clients cannot tell what is missing from what belongs to someone else
└── InvalidFields    400  with the problems of each field

`copilot_project.errors` translates refusals for the HTTP API, `tools.errors` for the model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from http import HTTPStatus


class DurableError(Exception):
    """Something about a durable job went wrong."""

    def __init__(self, message: str = "") -> None:
        super().__init__(message or (type(self).__doc__ or "").strip())


class LeaseLost(DurableError):
    """Another attempt owns this job now; this one may write nothing more."""


class JobCancelled(DurableError):
    """A person asked for this job to stop."""


class HandOver(DurableError):
    """This worker is shutting down; another one continues the job."""


class JobTimedOut(DurableError):
    """The job exceeded its time limit."""


class IllegalMove(DurableError):
    """The job's status does not allow that change."""


class Refusal(Exception):
    """This request was refused."""

    status: int = HTTPStatus.BAD_REQUEST
    code: str = "refused"
    hint: str = ""  # what the person can do about it
    retry_after: float | None = None  # seconds until it may work

    def __init__(self, message: str = "") -> None:
        """`message` is for the person who made the request; it defaults to the docstring of the class."""
        self.message = message or " ".join((type(self).__doc__ or "").split())
        super().__init__(self.message)

    @property
    def advice(self) -> str:
        """The message and, where there is one, the hint."""
        return f"{self.message} {self.hint}".strip()


class NotFound(Refusal):
    """There is nothing here, or it is not yours."""

    status = HTTPStatus.NOT_FOUND
    code = "not_found"


class InvalidFields(Refusal):
    """The request cannot be used like this."""

    code = "invalid"

    def __init__(self, fields: Mapping[str, Sequence[str]]) -> None:
        """`fields` has the problem of each field, by its dotted path."""
        self.fields = {path: list(texts) for path, texts in fields.items()}
        super().__init__(" ".join(text for texts in self.fields.values() for text in texts))
