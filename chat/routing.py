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
    re_path("", WebsocketDenier.as_asgi()),  # type: ignore[arg-type]
]
websockets = OriginGuard(URLRouter(routes))  # type: ignore[arg-type]
