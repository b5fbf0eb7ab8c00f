"""What can be wrong with a decision.

Refusal
├── AlreadyDecided     409  somebody was first, it expired, or what asked has ended
└── NotEditable        400  the data may be looked at, not changed
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
