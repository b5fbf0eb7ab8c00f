"""The addresses of the chat's websockets."""

from __future__ import annotations

from typing import Any

from channels.routing import URLRouter
from channels.security.websocket import WebsocketDenier
from django.urls import path, re_path

from chat.delivery.chat_socket import ChatSocket
from chat.delivery.entrance import OriginGuard
from chat.delivery.events_socket import EventsSocket

routes: list[Any] = [
    path("ws/chat/", ChatSocket.application),  # type: ignore[arg-type]
    path("ws/events/", EventsSocket.application),  # type: ignore[arg-type]
    re_path("", WebsocketDenier.as_asgi()),  # type: ignore[arg-type]
]
websockets = OriginGuard(URLRouter(routes))  # type: ignore[arg-type]
