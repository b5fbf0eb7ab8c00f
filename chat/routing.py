"""Websocket routes of the chat."""

from __future__ import annotations

from typing import Any

from channels.routing import URLRouter
from channels.security.websocket import WebsocketDenier
from django.urls import path, re_path

from chat.ai_sdk.consumer import ChatConsumer
from chat.delivery.authentication import OriginGuard
from chat.delivery.events_consumer import EventsConsumer

routes: list[Any] = [
    path("ws/chat/", ChatConsumer.as_asgi()),  # type: ignore[arg-type]
    path("ws/events/", EventsConsumer.as_asgi()),  # type: ignore[arg-type]
]
refused: Any = re_path("", WebsocketDenier.as_asgi())  # type: ignore[arg-type]


def websockets_with(*more: Any) -> OriginGuard:
    """Return the application of these routes and those of other packages; anything else is refused."""
    return OriginGuard(URLRouter([*routes, *more, refused]))  # type: ignore[arg-type]


websockets = websockets_with()
