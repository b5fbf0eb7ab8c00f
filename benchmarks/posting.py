"""The cost of accepting a message: POST /api/sessions/{id}/turns next to a bare DRF view that commits two rows."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable
from typing import Any

from django.db import transaction
from django.test import Client, override_settings
from django.urls import path
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.api_keys import create_api_key
from accounts.models import User
from benchmarks.conversations import new_session
from benchmarks.side_by_side import Report, Size, alternate, cpu_per_item, ratio_at_most
from chat.models import Message, Session, Turn
from copilot_project.celery import app
from copilot_project.urls import urlpatterns as product
from tests.harness import Stack

TITLE = "CPU of the web process per accepted message, from the request's bytes to the answer's"


class Bare(APIView):
    """The minimum of accepting a message: the same login, the same parser and two rows."""

    def post(self, request: Request, session_id: uuid.UUID) -> Response:
        given: Any = request.data
        with transaction.atomic():
            turn = Turn.objects.create(session_id=session_id, user_id=request.user.pk, status=Turn.QUEUED)
            Message.objects.create(
                session_id=session_id, turn=turn, role=Message.Role.USER, text=given["message"]
            )
        return Response({"turn": {"id": str(turn.pk), "status": turn.status}}, status=202)


urlpatterns = [*product, path("bare/<uuid:session_id>/turns", Bare.as_view())]


def run(stack: Stack, size: Size, report: Report) -> None:
    count = size.pick(5, 30, 60)  # fewer than the pokes that may wait
    ways = {
        "bare": posts("/bare/{}/turns", count),
        "ours": posts("/api/sessions/{}/turns", count),
    }
    with override_settings(ROOT_URLCONF="benchmarks.posting"):
        for way in ways.values():
            way()  # caches
        found = alternate(ways, size.repetitions)
    report.add("POST a message", "us", found["ours"], found["bare"], ratio_at_most(1.5))
    report.remark(
        "both: API key, strict JSON, SQLite with WAL; ours also checks the budget, the limits and the client id, "
        "and pokes a worker"
    )


def posts(address: str, count: int) -> Callable[[], float]:
    def post() -> float:
        person = User.objects.create(username=uuid.uuid4().hex)
        headers = {"Authorization": f"Bearer {create_api_key(person, 'bench')}"}
        client = Client(SERVER_NAME="127.0.0.1", headers=headers)
        sessions = [new_session(person) for _ in range(count)]
        drain_queue()

        def send() -> None:
            for session in sessions:
                body = json.dumps({"message": "hello there", "client_id": uuid.uuid4().hex})
                check(client.post(address.format(session.pk), body, content_type="application/json"))

        spent = cpu_per_item(send, count)
        Session.objects.filter(user=person).delete()
        return spent

    return post


def drain_queue() -> None:
    """Take the pokes off the queue, as workers do; a POST that finds it full leaves its turn to the sweep."""
    with app.connection_for_write() as broker:
        channel: Any = broker.default_channel
        channel.queue_purge(Turn.queue)


def check(response: Any) -> None:
    assert response.status_code == 202, response.content
