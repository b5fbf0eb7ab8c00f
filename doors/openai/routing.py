"""Websocket routes of the OpenAI door."""

from __future__ import annotations

from typing import Any

from django.urls import path

from doors.openai.consumer import ResponsesConsumer

routes: list[Any] = [path("v1/responses", ResponsesConsumer.as_asgi())]  # type: ignore[arg-type]
