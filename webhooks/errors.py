"""Refusals about webhooks.

Refusal
├── TooManyEndpoints     409
├── EndpointDisabled     409  nothing is sent to it now
├── StillOnItsWay        409  a delivery that has not ended cannot be replayed
├── BadPushKeys          400  no browser has such keys
├── NoPushDevice         409  there is no device to push to
└── TooManyPushSubscriptions 409
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


class BadPushKeys(Refusal):
    """These are not the keys of a browser's push subscription: `p256dh` is a point on P-256, `auth` has 16 bytes."""

    status = HTTPStatus.BAD_REQUEST
    code = "bad_push_keys"


class NoPushDevice(Refusal):
    """No device of yours takes push messages yet."""

    status = HTTPStatus.CONFLICT
    code = "no_push_device"
    hint = "Switch notifications on in the settings of a browser first."


class TooManyPushSubscriptions(Refusal):
    """You have reached the maximum number of devices that take push messages."""

    status = HTTPStatus.CONFLICT
    code = "too_many_push_subscriptions"
    hint = "Remove one that you no longer use, then try again."
