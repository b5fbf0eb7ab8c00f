"""The roles of docker/entrypoint as separate processes on PostgreSQL, RabbitMQ and Redis, behind a proxy."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from tests.deployment.roles import Deployment, deployed
from tests.rig import Client, Reader, eventually

pytestmark = [pytest.mark.services, pytest.mark.timeout(600)]
GOING_AWAY = 1001


@pytest.fixture(scope="module")
def deployment(short_tmp: Path, database: str, broker: str) -> Iterator[Deployment]:
    with deployed(short_tmp / "d", database_url=database, broker_url=broker, lease_seconds=9.0) as running:
        yield running


def test_a_turn_is_answered_through_the_proxy_by_both_web_processes(deployment: Deployment) -> None:
    client = deployment.through_proxy()
    session = client.new_session()
    call = {"name": "test_effect", "arguments": {"note": "x"}}
    turn = client.send(session, {"steps": [{"text": "One. ", "tool_calls": [call]}, {"text": "Two."}]})
    reader = Reader(client, turn["id"]).read_to_end()
    assert client.wait(turn["id"])["end_reason"] == "done"
    assert reader.text == client.answer(session)["content"] == "One. Two."
    assert deployment.proxy is not None
    assert all(deployment.proxy.served.values())


def test_a_stream_arrives_through_the_proxy_as_it_is_written(deployment: Deployment) -> None:
    client = deployment.through_proxy()
    turn = client.send(
        client.new_session(), {"id": "slow", "steps": [{"chunks": 10, "delay": 0.05, "gate": "go"}]}
    )
    stream = client.events(turn["id"])
    assert next(stream)[1]["type"] == "start"
    deployment.release("go")
    assert [chunk["type"] for _, chunk in stream][-1] == "finish"


def test_the_processes_say_who_they_are_to_doctor(deployment: Deployment) -> None:
    rows = {row["name"]: row for row in json.loads(deployment.run_role("doctor", "--json"))}
    assert rows["broker"]["message"] == "RabbitMQ"
    assert rows["workers"]["message"].startswith("4 alive")


class Load:
    """People who talk all the time, each with a stream and a websocket; what goes wrong for them is kept."""

    def __init__(self, deployment: Deployment, people: int) -> None:
        self.deployment = deployment
        self.over = threading.Event()
        self.errors: list[str] = []
        self.answered: list[tuple[Client, str, str, str]] = []
        self.comebacks = 0
        self.threads = [threading.Thread(target=self._guard, args=[self._talk]) for _ in range(people)]
        self.threads.append(threading.Thread(target=self._guard, args=[self._listen]))

    def __enter__(self) -> Load:
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.over.set()
        for thread in self.threads:
            thread.join(120)

    def _guard(self, work: Any) -> None:
        try:
            work()
        except Exception as error:  # noqa: BLE001 whatever a client meets is what the test is about
            self.errors.append(f"{type(error).__name__}: {error}")

    def _talk(self) -> None:
        client = self.deployment.through_proxy()
        while not self.over.is_set():
            session = client.new_session()
            turn = client.send(session, {"steps": [{"chunks": 20, "delay": 0.05}]})
            text = Reader(client, turn["id"]).read_to_end().text
            self.answered.append((client, session, turn["id"], text))

    def _listen(self) -> None:
        """A websocket that comes back when it is told that its server goes away, and hears no other code."""
        client = self.deployment.through_proxy()
        address = f"{client.url.replace('http', 'ws')}/ws/events/"
        while not self.over.is_set():
            with connect(address, additional_headers={"Authorization": f"Bearer {client.key}"}) as socket:
                try:
                    while not self.over.is_set():
                        try:
                            socket.recv(timeout=0.5)
                        except TimeoutError:
                            continue
                except ConnectionClosed as closed:
                    if closed.rcvd is None or closed.rcvd.code != GOING_AWAY:
                        raise
                    self.comebacks += 1


def test_a_rolling_restart_of_every_process_under_load_shows_no_error_and_loses_nothing(
    deployment: Deployment,
) -> None:
    with Load(deployment, people=3) as load:
        eventually(lambda: len(load.answered) >= 3 or load.errors, what="the first answers")
        for name, role in list(deployment.live.items()):
            replace(deployment, name, role)
            assert load.errors == []
        before = len(load.answered)
        eventually(lambda: len(load.answered) >= before + 3 or load.errors, what="answers after the restart")
    assert load.errors == []
    assert load.comebacks >= 1
    for client, session, turn_id, text in load.answered:
        assert client.turn(turn_id)["end_reason"] == "done"
        assert client.answer(session)["content"] == text == "".join(f"{n} " for n in range(20))


def replace(deployment: Deployment, name: str, role: str) -> None:
    """The new process first where it can run beside the old one; a web process keeps its port."""
    if role != "web":
        deployment.start_role(role)
        deployment.stop_role(name)
        return
    number = int(name.rpartition("-")[2]) - 1
    deployment.stop_role(name)
    deployment.start_role("web", PORT=str(deployment.web_ports[number]))
    deployment.wait_for_web(number)


def test_flower_does_not_start_without_a_password(deployment: Deployment) -> None:
    with pytest.raises(AssertionError, match="FLOWER_BASIC_AUTH"):
        deployment.run_role("flower")


def test_a_request_without_a_key_is_refused_through_the_proxy(deployment: Deployment) -> None:
    assert deployment.proxy is not None
    assert httpx.get(f"http://127.0.0.1:{deployment.proxy.port}/api/sessions").status_code == 401
