"""The roles of docker/entrypoint as separate processes on PostgreSQL, RabbitMQ and Redis, behind a proxy."""

from __future__ import annotations

import json
import os
import re
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest

from tests.harness import Reader, eventually
from tests.system.deployment.certificates import own_certificate
from tests.system.deployment.load import Load
from tests.system.deployment.proxy import Proxy, round_robin
from tests.system.deployment.roles import ROLES, Deployment, deployed

ROUNDS = int(os.environ.get("ROLLING_RESTARTS", "1"))  # the long form: ROLLING_RESTARTS=5 ROLLING_PEOPLE=10
PEOPLE = int(os.environ.get("ROLLING_PEOPLE", "2"))
pytestmark = [pytest.mark.services, pytest.mark.timeout(600 * ROUNDS)]
CALL = {"name": "test_effect", "arguments": {"note": "x"}}


@pytest.fixture(scope="module")
def deployment(short_tmp: Path, database: str, broker: str) -> Iterator[Deployment]:
    with deployed(short_tmp / "d", database_url=database, broker_url=broker, lease_seconds=9.0) as running:
        yield running


def test_a_turn_is_answered_through_the_proxy_by_both_web_processes(deployment: Deployment) -> None:
    client = deployment.through_proxy()
    session = client.new_session()
    turn = client.send(session, {"steps": [{"text": "One. ", "tool_calls": [CALL]}, {"text": "Two."}]})
    reader = Reader(client, turn["id"]).read_to_end()
    assert client.wait(turn["id"])["end_reason"] == "done"
    assert reader.text == client.answer(session)["content"] == "One. Two."
    assert all(httpx.get(f"{deployment.url(web)}/healthz").status_code == 200 for web in (0, 1))
    if isinstance(deployment.proxy, Proxy):
        assert all(deployment.proxy.served.values())


def test_a_stream_arrives_through_the_proxy_as_it_is_written(deployment: Deployment) -> None:
    client = deployment.through_proxy()
    turn = client.send(
        client.new_session(), {"id": "slow", "steps": [{"chunks": 10, "delay": 0.05, "gate": "go"}]}
    )
    stream = client.events(turn["id"])
    kinds = (chunk["type"] for _, chunk in stream)
    assert next(kind for kind in kinds if kind != "data-turn") == "start"  # before it: that the turn waits
    deployment.release("go")
    assert list(kinds)[-1] == "finish"


def test_doctor_finds_a_whole_deployment_well(deployment: Deployment, tmp_path: Path) -> None:
    with site(deployment, tmp_path) as trust:
        rows = {row["name"]: row for row in json.loads(deployment.run_role("doctor", "--json", **trust))}
    assert [name for name, row in rows.items() if not row["ok"]] == optional(rows)
    assert rows["broker"]["message"] == "RabbitMQ"
    assert rows["workers"]["message"].startswith("5 alive")
    assert rows["queues"]["message"] == "executions: 1, operations: 1, turns: 3, webhooks: 1"
    assert rows["public site"]["message"] == f"https://127.0.0.1:{deployment.site_port}"
    assert rows["websockets"]["message"] == "work through the proxy"


def optional(rows: dict[str, dict[str, Any]]) -> list[str]:
    """What depends on the machine of the test: whether the UI is built, and whether it can hold a sandbox."""
    return [name for name in ("UI build", "sandbox") if not rows[name]["ok"]]


@contextmanager
def site(deployment: Deployment, folder: Path) -> Iterator[dict[str, str]]:
    """The public address, with TLS; answers what a process needs in its environment to believe it."""
    certificate, tls = own_certificate(folder)
    with round_robin(deployment.web_ports, port=deployment.site_port, tls=tls):
        yield {"SSL_CERT_FILE": str(certificate)}


@pytest.mark.parametrize("role", sorted({*ROLES, "web"}))
def test_the_health_check_tells_a_process_that_works_from_one_that_hangs(
    deployment: Deployment, role: str
) -> None:
    name = next(name for name, found in deployment.live.items() if found == role)
    eventually(lambda: deployment.health(name, limit=20) == 0, what="a sign of life")
    os.killpg(deployment.processes[name].pid, signal.SIGSTOP)
    try:
        eventually(lambda: deployment.health(name, limit=2) != 0, what="the missing sign of life")
    finally:
        os.killpg(deployment.processes[name].pid, signal.SIGCONT)
    eventually(lambda: deployment.health(name, limit=5) == 0, what="a sign of life again")


def test_a_process_that_never_started_is_not_healthy(deployment: Deployment) -> None:
    assert deployment.health("nobody") != 0


def test_a_rolling_restart_of_every_process_under_load_shows_no_error_and_loses_nothing(
    deployment: Deployment,
) -> None:
    with Load(deployment, people=PEOPLE) as load:
        load.go_on("the first answers")
        for _ in range(ROUNDS):
            for stop in replacements(deployment):
                stop()  # all of them whatever happens: the tests below count the processes
        assert load.errors == []
        load.go_on("answers after the restart")
    load.check()
    assert load.comebacks >= 1


def replacements(deployment: Deployment) -> list[Callable[[], None]]:
    """Start a new process for each that can run beside the old one; what stops the old ones, one after the other."""
    old = list(deployment.live.items())
    for new in [deployment.start_role(role) for _, role in old if role != "web"]:
        eventually(partial(is_healthy, deployment, new), what=f"a sign of life of {new}")
    return [
        partial(replace_web if role == "web" else Deployment.stop_role, deployment, name)
        for name, role in old
    ]


def is_healthy(deployment: Deployment, name: str) -> bool:
    return deployment.health(name) == 0


def replace_web(deployment: Deployment, name: str) -> None:
    """A web process keeps its port, so that the old one goes first."""
    number = deployment.web_names.index(name)
    deployment.stop_role(name)
    deployment.web_names[number] = deployment.start_role("web", PORT=str(deployment.web_ports[number]))
    deployment.wait_for_web(number)


TRUTHS = {
    'ratchet_turns_total{{end_reason="{1}",status="{0}"}}': (
        "SELECT status, end_reason, count(*) FROM chat_turn WHERE ended_at IS NOT NULL GROUP BY status, end_reason"
    ),
    'ratchet_tool_calls_total{{state="{1}",tool="{0}"}}': (
        "SELECT name, state, count(*) FROM tools_toolcall GROUP BY name, state"
    ),
    'ratchet_takeovers_total{{cause="{0}"}}': (
        "SELECT cause, count(*) FROM chat_attempt WHERE cause <> 'queued' GROUP BY cause"
    ),
    'ratchet_tokens_total{{direction="in"}}': "SELECT sum(input_tokens) FROM accounts_ledgerentry",
    'ratchet_tokens_total{{direction="out"}}': "SELECT sum(output_tokens) FROM accounts_ledgerentry",
    'ratchet_cost_usd_total{{kind="{0}"}}': (
        "SELECT kind, sum(amount) FROM accounts_ledgerentry GROUP BY kind"
    ),
    "ratchet_turn_seconds_count": "SELECT count(*) FROM chat_turn WHERE ended_at IS NOT NULL",
    "ratchet_turn_first_word_seconds_count": "SELECT count(first_word_at) FROM chat_turn",
}


def wrong_metrics(deployment: Deployment, web: int) -> list[str]:
    """What one web process counts otherwise than the database."""
    said = metrics_of(deployment, web)
    with psycopg.connect(deployment.database_url) as database:
        return [
            f"{name} is {said.get(name)} and not {number}"
            for metric, query in TRUTHS.items()
            for *labels, number in database.execute(query).fetchall()
            if (name := metric.format(*labels)) and said.get(name) != pytest.approx(float(number))
        ]


def metrics_of(deployment: Deployment, web: int) -> dict[str, float]:
    page = httpx.get(f"{deployment.url(web)}/metrics", timeout=60).text
    lines = (line.rsplit(" ", 1) for line in page.splitlines() if not line.startswith("#"))
    return {name: float(number) for name, number in lines}


def metrics_are_right(deployment: Deployment) -> None:
    """In every web process; a title that is made meanwhile is charged a moment later."""
    for web in (0, 1):
        eventually(
            partial(has_right_metrics, deployment, web), what=f"other than {wrong_metrics(deployment, web)}"
        )
        assert metrics_of(deployment, web)['ratchet_turns_total{end_reason="done",status="completed"}'] > 3


def has_right_metrics(deployment: Deployment, web: int) -> bool:
    return not wrong_metrics(deployment, web) and metrics_of(deployment, web)["ratchet_workers"] == 5


def test_metrics_equal_what_the_database_says_after_the_load(deployment: Deployment) -> None:
    metrics_are_right(deployment)


def test_metrics_equal_what_the_database_says_after_a_worker_was_killed_under_load(
    deployment: Deployment,
) -> None:
    with Load(deployment, people=PEOPLE) as load:
        load.go_on("answers before the kill")
        client = deployment.through_proxy("bob")
        steps = [{"tool_calls": [CALL]}, {"chunks": 4, "gate": "killed", "gate_at": 2}]
        turn = client.send(client.new_session(), {"id": "killed", "steps": steps})
        kill_holder(deployment, turn["id"])
        deployment.start_role("worker")
        deployment.release("killed")
        assert client.wait(turn["id"])["end_reason"] == "done"
        load.go_on("answers after the kill")
    load.check()
    metrics_are_right(deployment)
    assert metrics_of(deployment, 0)['ratchet_takeovers_total{cause="worker_lost"}'] >= 1


def kill_holder(deployment: Deployment, turn_id: str) -> None:
    """With -9, once it has asked the model for the second time."""
    at = "SELECT owner FROM chat_turn JOIN chat_step ON turn_id = chat_turn.id WHERE chat_turn.id = ?"
    [(owner,)] = eventually(lambda: deployment.sql(at, turn_id), what="the first step of the turn")
    pid = int(owner.split(":")[1])
    name = next(name for name in deployment.live if deployment.processes[name].pid == pid)
    deployment.kill(name)
    del deployment.live[name], deployment.processes[name]


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


AS_ROOT = re.compile(  # Celery says it to those who run it so, before there is a log
    r"\S+celery/platforms\.py:\d+: SecurityWarning: You're running the worker with superuser privileges.*?"
    r"_warn_or_raise_security_error\(egid, euid, gid, uid,\n",
    re.DOTALL,
)


def lines_of(deployment: Deployment, name: str) -> list[str]:
    """Everything a process has said so far, but for the warning to root."""
    text = (deployment.home / f"{name}.log").read_text()
    return [line for line in AS_ROOT.sub("", text).splitlines() if line]


def test_every_log_line_of_the_product_in_production_is_json(deployment: Deployment) -> None:
    client = deployment.through_proxy()
    client.wait(client.send(client.new_session(), "Hello")["id"])
    said = {(name, line) for name in deployment.live for line in lines_of(deployment, name)}
    assert {role for name, role in deployment.live.items() if any(found == name for found, _ in said)} >= {
        "web",
        "worker",
        "beat",
    }
    assert [(name, line) for name, line in said if not is_json_line(line)] == []


def is_json_line(line: str) -> bool:
    try:
        return {"at", "level", "logger", "message", "process"} <= set(json.loads(line))
    except ValueError:
        return False


def test_the_lines_of_a_turn_name_it_its_session_its_attempt_and_the_request_that_asked_for_it(
    deployment: Deployment,
) -> None:
    client = deployment.through_proxy()
    session = client.new_session()
    client.http.headers["X-Request-ID"] = "request-of-this-test"
    turn = client.send(session, {"id": "logged", "steps": [{"text": "Here.", "fault": {"status": 503}}]})
    client.wait(turn["id"])

    def told() -> list[dict[str, Any]]:
        workers = [name for name, role in deployment.live.items() if role == "worker"]
        lines = [json.loads(line) for name in workers for line in lines_of(deployment, name)]
        return [line for line in lines if line.get("job_id") == turn["id"]]

    eventually(lambda: "job ended" in {line["message"] for line in told()}, what="the line of the turn's end")
    ids = {
        "job": "turn",
        "job_id": turn["id"],
        "session_id": session,
        "attempt": 1,
        "request_id": "request-of-this-test",
    }
    assert [{name: line.get(name) for name in ids} for line in told()] == [ids] * len(told())
    [end] = [line for line in told() if line["message"] == "job ended"]
    assert (end["status"], end["end_reason"]) == ("completed", "done")


def test_flower_does_not_start_without_a_password(deployment: Deployment) -> None:
    with pytest.raises(AssertionError, match="FLOWER_BASIC_AUTH"):
        deployment.run_role("flower")


def test_a_request_without_a_key_is_refused_through_the_proxy(deployment: Deployment) -> None:
    assert deployment.proxy is not None
    assert httpx.get(f"{deployment.proxy.url}/api/sessions").status_code == 401
