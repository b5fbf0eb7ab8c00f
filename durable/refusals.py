"""Errors that refuse a request, by any channel: HTTP, websocket, tool call, schedule or admin action.

Refusal              400
├── NotFound         404  clients cannot tell what is missing from what belongs to someone else
└── InvalidFields    400  with the problems of each field

`copilot_project.errors` translates them for the HTTP API, `tools.errors` for the model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from http import HTTPStatus


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
