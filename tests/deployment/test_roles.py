"""The roles of docker/entrypoint as separate processes on PostgreSQL, RabbitMQ and Redis, behind a proxy."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import psycopg
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


TRUTHS = {
    'ratchet_turns{{end_reason="{1}",status="{0}"}}': (
        "SELECT status, end_reason, count(*) FROM chat_turn GROUP BY status, end_reason"
    ),
    'ratchet_tool_calls{{state="{1}",tool="{0}"}}': (
        "SELECT name, state, count(*) FROM tools_toolcall GROUP BY name, state"
    ),
    "ratchet_takeovers_total": "SELECT count(*) FROM chat_attempt WHERE number > 1",
    'ratchet_tokens_total{{direction="in"}}': "SELECT sum(input_tokens) FROM accounts_ledgerentry",
    'ratchet_tokens_total{{direction="out"}}': "SELECT sum(output_tokens) FROM accounts_ledgerentry",
    "ratchet_cost_usd_total": "SELECT sum(amount) FROM accounts_ledgerentry",
    "ratchet_turn_seconds_count": "SELECT count(*) FROM chat_turn WHERE ended_at IS NOT NULL",
    "ratchet_turn_first_word_seconds_count": "SELECT count(first_word_at) FROM chat_turn",
}


def test_metrics_equal_what_the_database_says_after_the_load(deployment: Deployment) -> None:
    for web in (0, 1):
        page = httpx.get(f"{deployment.url(web)}/metrics", timeout=30).text
        said = dict(line.rsplit(" ", 1) for line in page.splitlines() if not line.startswith("#"))
        with psycopg.connect(deployment.database_url) as database:
            for metric, query in TRUTHS.items():
                for *labels, number in database.execute(query).fetchall():
                    assert float(said[metric.format(*labels)]) == pytest.approx(float(number)), metric
        assert float(said['ratchet_turns{end_reason="done",status="completed"}']) > 3
        assert said["ratchet_workers"] == "4.0"


def test_a_canary_appears_in_no_log_and_no_metric(deployment: Deployment) -> None:
    canary = "canary-5d1e7b"
    client = deployment.through_proxy()
    session = client.new_session()
    call = {"name": "test_effect", "arguments": {"note": canary}}
    turn = client.send(session, {"steps": [{"text": canary, "tool_calls": [call]}, {"text": "Done."}]})
    assert client.wait(turn["id"])["end_reason"] == "done"
    kept = client.http.post(
        "/api/credentials", json={"provider": "smtp", "kind": "api_key", "title": "x", "api_key": canary}
    )
    assert kept.status_code == 201, kept.text
    assert canary not in kept.text
    logs = [path for path in deployment.home.glob("*.log") if not path.name.startswith("model")]
    assert len(logs) > 8
    assert [path.name for path in logs if canary in path.read_text(errors="replace")] == []
    assert canary not in httpx.get(f"{deployment.url()}/metrics").text


def test_every_log_line_of_the_product_in_production_is_json(deployment: Deployment) -> None:
    name = next(name for name, role in deployment.live.items() if role == "worker")
    lines = [line for line in deployment.log(name, 500).splitlines() if line.startswith("{")]
    assert lines and all({"at", "level", "logger", "message"} <= set(json.loads(line)) for line in lines)


def test_flower_does_not_start_without_a_password(deployment: Deployment) -> None:
    with pytest.raises(AssertionError, match="FLOWER_BASIC_AUTH"):
        deployment.run_role("flower")


def test_a_request_without_a_key_is_refused_through_the_proxy(deployment: Deployment) -> None:
    assert deployment.proxy is not None
    assert httpx.get(f"http://127.0.0.1:{deployment.proxy.port}/api/sessions").status_code == 401
