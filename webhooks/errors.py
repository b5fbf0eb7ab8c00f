"""Refusals about webhooks.

Refusal
├── TooManyEndpoints     409
├── EndpointDisabled     409  nothing is sent to it now
└── StillOnItsWay        409  a delivery that has not ended cannot be replayed
"""

from __future__ import annotations

from http import HTTPStatus

from durable.errors import Refusal


class TooManyEndpoints(Refusal):
    """You have reached the maximum number of webhook endpoints."""

    status = HTTPStatus.CONFLICT
    code = "too_many_endpoints"
    hint = "Delete one that you no longer use, then create the new one."


class EndpointDisabled(Refusal):
    """This endpoint is disabled, so nothing is sent to it."""

    status = HTTPStatus.CONFLICT
    code = "endpoint_disabled"
    hint = "Set `enabled` to true first."


class StillOnItsWay(Refusal):
    """This delivery has not ended yet; it is retried automatically."""

    status = HTTPStatus.CONFLICT
    code = "still_on_its_way"
