"""What a whole turn costs: statements to the database and CPU of POST and worker, without gaps between chunks."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable

import httpx
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext, override_settings

from accounts.api_keys import create_api_key
from accounts.models import User
from benchmarks.conversations import new_session, script
from benchmarks.posting import check
from benchmarks.side_by_side import Report, Series, Size, alternate, at_most
from chat import engine
from chat.models import Session, Turn
from durable.runtime import runtime
from tests.harness import Stack, eventually

TITLE = "a plain turn of 200 words from the POST to its end, both halves in this process"
MESSAGE = script({"chunks": 200})


def run(stack: Stack, size: Size, report: Report) -> None:
    stack.start_model()
    eventually(lambda: "http" in stack.log("model"), what="the offline model")
    count = size.pick(2, 15, 40)
    with override_settings(ROOT_URLCONF="benchmarks.posting"):
        plain = Plain(stack, count)
        ways = {"limit": limit(stack, plain), "posts": plain.post, "runs": plain.run}
        for way in ways.values():
            way()  # imports, caches, connections
        found = alternate(ways, size.repetitions)
    whole = Series.of(a + b for a, b in zip(found["posts"].values, found["runs"].values, strict=True))
    report.add("a turn, POST and worker", "ms", whole, found["limit"], at_most(25))
    report.add("  its POST", "ms", found["posts"])
    report.add("  its run", "ms", found["runs"])
    report.add("statements, with BEGIN and login, without COMMIT", "", plain.statements(), goal=at_most(20))
    report.remark("the limit: a bare view that commits two rows, and a client that reads the model's stream")


class Plain:
    """Turns of one person, one after the other in sessions that have a title."""

    def __init__(self, stack: Stack, count: int) -> None:
        self.count = count
        self.person = User.objects.create(username=uuid.uuid4().hex)
        key = create_api_key(self.person, "bench")
        self.client = Client(SERVER_NAME="127.0.0.1", headers={"Authorization": f"Bearer {key}"})
        self.queued: list[uuid.UUID] = []

    def post(self) -> float:
        sessions = [new_session(self.person) for _ in range(self.count)]
        started = time.process_time()
        for session in sessions:
            self.send(session, "/api/sessions/{}/turns")
        return self.per_turn(started)

    def send(self, session: Session, address: str) -> None:
        body = json.dumps({"message": MESSAGE, "client_id": uuid.uuid4().hex})
        answer = self.client.post(address.format(session.pk), body, content_type="application/json")
        check(answer)
        self.queued.append(uuid.UUID(answer.json()["turn"]["id"]))

    def run(self) -> float:
        turns, self.queued = self.queued, []
        started = time.process_time()
        for turn_id in turns:
            runtime().run(Turn, turn_id, engine.run)
        spent = self.per_turn(started)
        assert Turn.objects.filter(pk__in=turns, end_reason=Turn.EndReason.DONE).count() == self.count
        return spent

    def per_turn(self, started: float) -> float:
        return (time.process_time() - started) / self.count * 1000

    def statements(self) -> float:
        session = new_session(self.person)
        with CaptureQueriesContext(connection) as asked:
            self.send(session, "/api/sessions/{}/turns")
            runtime().run(Turn, self.queued.pop(), engine.run)
        said = [query["sql"] for query in asked]
        return float(sum(sql != "COMMIT" and 'SET "poked_at" = NULL WHERE' not in sql for sql in said))


def limit(stack: Stack, plain: Plain) -> Callable[[], float]:
    """The same in its simplest form, with nothing that survives a crash."""
    client = httpx.Client(base_url=f"http://127.0.0.1:{stack.model_port}", timeout=20)
    body = {"model": "offline", "stream": True, "messages": [{"role": "user", "content": MESSAGE}]}

    def answer() -> float:
        sessions = [new_session(plain.person) for _ in range(plain.count)]
        started = time.process_time()
        for session in sessions:
            plain.send(session, "/bare/{}/turns")
            with client.stream("POST", "/v1/chat/completions", json=body) as response:
                for line in response.iter_lines():
                    if line.startswith("data: {"):
                        json.loads(line.removeprefix("data: "))
        spent = plain.per_turn(started)
        plain.queued.clear()
        Session.objects.filter(pk__in=[session.pk for session in sessions]).delete()
        return spent

    return answer
