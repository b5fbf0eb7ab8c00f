"""Refusals of decisions.

Refusal
├── AlreadyDecided     409  decided, expired or withdrawn
└── NotEditable        400  the data may not be changed
"""

from __future__ import annotations

from http import HTTPStatus

from durable.refusals import Refusal


class AlreadyDecided(Refusal):
    """This review has been decided already."""

    status = HTTPStatus.CONFLICT
    code = "already_decided"


class NotEditable(Refusal):
    """The data of this review may not be changed. Approve or reject it as it is."""

    code = "not_editable"
