"""Create one object of each kind a user can own, through the API."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from typing import Any

from attack.signatures import standard_headers
from tests.harness import Client, eventually

INPUT, OUTPUT = "c0a8e994-ebf1-4a9c-a4d8-89d09c86741b", "363ae599-353e-4804-937e-b2ee3cef3da4"
ASK = "8b2a7b3c-6e9d-4a5f-8c1b-2e3f4a5b6c7d"
SECRET = "canary-of-a-credential-7d1f"
MOST_WAITED_SECONDS = 61
CONTENT = b"what nobody else may read"


@dataclass(frozen=True, kw_only=True)
class Belongings:
    """The ids of the objects of one user."""

    session: str
    turn: str
    file: str
    agent: str
    execution: str
    review: str
    schedule: str
    trigger: str
    trigger_url: str
    trigger_secret: str
    trigger_delivery: str
    webhook: str
    webhook_delivery: str
    credential: str
    key: str
    operation: str
    sub_session: str


def furnish(client: Client, hook_url: str) -> Belongings:
    """Create one object of each kind for this user; the operation and the sub-session need the offline model."""
    session = client.new_session(title="What nobody else may see")
    turn = client.send(session, {"steps": [{"text": "A private answer."}]})
    client.wait(turn["id"])
    agent = import_agent(client, greeting())
    execution = post(client, f"/api/agents/{agent}/execute", {"inputs": {"name": "Ada"}})["id"]
    trigger = post(
        client, "/api/triggers", {"name": "Hook", "agent_id": agent, "scheme": "standard_webhooks"}
    )
    webhook = post(client, "/api/webhooks", {"url": hook_url, "events": ["turn.finished"]})
    test = post(client, f"/api/webhooks/{webhook['id']}/test", {})
    credential = {"provider": "http", "kind": "api_key", "api_key": SECRET, "title": "Private"}
    operation, sub_session = long_work(client)
    return Belongings(
        session=session,
        turn=turn["id"],
        file=upload(client, "private.txt", CONTENT),
        agent=agent,
        execution=execution,
        review=ask(client),
        schedule=post(client, "/api/schedules", {"name": "Yearly", "agent_id": agent, "cron": "0 0 1 1 *"})[
            "id"
        ],
        trigger=trigger["id"],
        trigger_url=trigger["url"],
        trigger_secret=trigger["secret"],
        trigger_delivery=call_trigger(client, trigger),
        webhook=webhook["id"],
        webhook_delivery=test["id"],
        credential=post(client, "/api/credentials", credential)["id"],
        key=post(client, "/api/keys", {"name": "second"})["id"],
        operation=operation,
        sub_session=sub_session,
    )


def post(client: Client, path: str, body: Any) -> dict[str, Any]:
    answer = client.http.post(path, json=body)
    if answer.status_code == 429:  # some requests are rate limited
        time.sleep(min(int(answer.headers.get("retry-after", 1)), MOST_WAITED_SECONDS))
        answer = client.http.post(path, json=body)
    if not answer.is_success:
        raise AssertionError(f"POST {path} answered {answer.status_code}: {answer.text[:500]}")
    made: dict[str, Any] = answer.json()
    return made


def upload(client: Client, name: str, content: bytes) -> str:
    answer = client.http.post("/api/files", files={"file": (name, content)})
    return str(answer.raise_for_status().json()["id"])


def greeting(name: str = "Private agent") -> dict[str, Any]:
    nodes = [node("in", INPUT, name="name", value="world"), node("out", OUTPUT, name="greeting")]
    return {
        "name": name,
        "description": "",
        "nodes": nodes,
        "links": [link("in", "result", "out", "value")],
    }


def import_agent(client: Client, body: dict[str, Any]) -> str:
    return str(post(client, "/api/agents", body)["id"])


def node(node_id: str, block_id: str, **values: Any) -> dict[str, Any]:
    return {"id": node_id, "block_id": block_id, "input_default": values, "metadata": {}}


def link(source: str, pin: str, sink: str, sink_pin: str) -> dict[str, Any]:
    ends = {"source_id": source, "source_name": pin, "sink_id": sink, "sink_name": sink_pin}
    return {"id": f"{source}-{pin}-{sink}", "is_static": False} | ends


def ask(client: Client) -> str:
    """Start an agent that asks a person, and return the id of the question."""
    nodes = [
        node("in", INPUT, name="draft", value={"text": "private"}),
        node("ask", ASK, name="The letter"),
        node("out", OUTPUT, name="letter"),
    ]
    links = [link("in", "result", "ask", "data"), link("ask", "approved_data", "out", "value")]
    agent = import_agent(client, {"name": "Asks", "description": "", "nodes": nodes, "links": links})
    execution = post(client, f"/api/agents/{agent}/execute", {"inputs": {}})["id"]

    def waiting() -> list[str]:
        found = client.http.get("/api/reviews?state=waiting").json()["results"]
        return [review["id"] for review in found if review["execution_id"] == execution]

    return eventually(waiting, what="the question of an agent")[0]


def call_trigger(client: Client, trigger: dict[str, Any]) -> str:
    """Call a trigger as its owner's service would, and return the id of the delivery."""
    body = json.dumps({"name": "Ada"}).encode()
    headers = standard_headers(trigger["secret"], body)
    client.http.post(trigger["url"], content=body, headers=headers).raise_for_status()
    found = client.http.get(f"/api/triggers/{trigger['id']}/deliveries").json()["results"]
    return str(found[0]["id"])


def long_work(client: Client) -> tuple[str, str]:
    """Start an operation and a sub-session, and return their ids."""
    script = {"id": "unused", "steps": [{"text": "Sub."}]}
    calls = [
        {
            "name": "customize_agent",
            "id": "c0",
            "arguments": {"agent_json": json.dumps(greeting()), "modifications": "also count the words"},
        },
        {"name": "run_sub_session", "id": "c1", "arguments": {"prompt": "SCRIPT:" + json.dumps(script)}},
    ]
    session = client.new_session()
    turn = client.send(session, {"steps": [{"tool_calls": calls}, {"text": "Started."}]})
    client.wait(turn["id"])
    text = json.dumps(client.session(session))
    return between(text, "operation_id"), between(text, "sub_session_id")


def between(text: str, name: str) -> str:
    return text.partition(f'"{name}": "')[2].partition('"')[0]
