"""Things that are there already when a person opens the page."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

from tests.harness import ROOT, Stack, eventually

INPUT_BLOCK = "7fcd3bcb-8e1b-4e69-903d-32d3d4a92158"
TEMPLATE_BLOCK = "db7d8f02-2f44-4c55-ab7a-eae0941f0c30"
REVIEW_BLOCK = "8b2a7b3c-6e9d-4a5f-8c1b-2e3f4a5b6c7d"
OUTPUT_BLOCK = "363ae599-353e-4804-937e-b2ee3cef3da4"
GREETER = {
    "name": "Greeter",
    "description": "Greets people by name.",
    "nodes": [
        {"id": "in", "block_id": INPUT_BLOCK, "input_default": {"name": "name"}},
        {"id": "fill", "block_id": TEMPLATE_BLOCK, "input_default": {"format": "Hello {{name}}!"}},
        {"id": "out", "block_id": OUTPUT_BLOCK, "input_default": {"name": "greeting"}},
    ],
    "links": [
        {"source_id": "in", "source_name": "result", "sink_id": "fill", "sink_name": "values_#_name"},
        {"source_id": "fill", "source_name": "output", "sink_id": "out", "sink_name": "value"},
    ],
}
SLEEP_BLOCK = "7e570000-0000-4000-8000-000000000003"
FILL = """
from accounts.models import User
from chat.models import Message, Session, Step, Turn
session = Session.objects.create(user=User.objects.get(username="ann"), title="Two thousand messages")
count = %d
turns = Turn.objects.bulk_create(
    Turn(session=session, user=session.user, status="completed", end_reason="done") for _ in range(count)
)
Message.objects.bulk_create(
    message
    for place, turn in enumerate(turns)
    for message in (
        Message(session=session, turn=turn, role="user", seq=2 * place, text=f"Question {place}"),
        Message(pk=turn.answer_id, session=session, turn=turn, role="assistant", seq=2 * place + 1),
    )
)
words = "A **paragraph** with `code`.\\n\\n| a | b |\\n|---|---|\\n| 1 | 2 |\\n\\n```python\\nprint(1)\\n```\\n"
Step.objects.bulk_create(
    Step(turn=turn, number=0, attempt=1, parts=[{"kind": "text", "text": f"Answer {place}. {words}"}])
    for place, turn in enumerate(turns)
)
Session.objects.filter(pk=session.pk).update(next_seq=2 * count)
print("SESSION", session.pk)
"""

SPEND = """
import random
from datetime import timedelta
from decimal import Decimal
from django.utils import timezone
from accounts.models import Budget, LedgerEntry, User
ann, chance = User.objects.get(username="ann"), random.Random(7)
Budget.objects.update_or_create(user=ann, defaults={"day_limit": Decimal(2), "month_limit": Decimal(25)})
for day in range(30):
    tokens = chance.randint(4_000, 60_000) if day % 7 not in (1, 2) else chance.randint(0, 6_000)
    LedgerEntry.objects.create(
        user=ann, key=f"sample:{day}", kind="model", amount=Decimal(tokens) * 2 / 100_000,
        input_tokens=tokens, output_tokens=tokens // 5, created_at=timezone.now() - timedelta(days=day),
    )
print("DONE")
"""


def asking_agent(question: str) -> dict[str, Any]:
    """An agent that shows a name to a person before it goes on."""
    return {
        "name": "Asks first",
        "description": "Shows a name to a person before it goes on.",
        "nodes": [
            {"id": "in", "block_id": INPUT_BLOCK, "input_default": {"name": "name"}},
            {"id": "ask", "block_id": REVIEW_BLOCK, "input_default": {"name": question}},
            {"id": "out", "block_id": OUTPUT_BLOCK, "input_default": {"name": "agreed"}},
        ],
        "links": [
            {"source_id": "in", "source_name": "result", "sink_id": "ask", "sink_name": "data"},
            {"source_id": "ask", "source_name": "approved_data", "sink_id": "out", "sink_name": "value"},
        ],
    }


def twice_asking_agent() -> dict[str, Any]:
    """An agent that asks a person, and then asks again."""
    once = asking_agent("Is the name right?")
    again = {"id": "again", "block_id": REVIEW_BLOCK, "input_default": {"name": "Really?"}}
    first, _ = once["links"]
    return once | {
        "name": "Asks twice",
        "nodes": [*once["nodes"], again],
        "links": [
            first,
            {"source_id": "ask", "source_name": "approved_data", "sink_id": "again", "sink_name": "data"},
            {"source_id": "again", "source_name": "approved_data", "sink_id": "out", "sink_name": "value"},
        ],
    }


def locked_agent() -> dict[str, Any]:
    """An agent that takes a secret, and does not give it out."""
    return {
        "name": "Door",
        "description": "Opens with a key.",
        "nodes": [
            {"id": "in", "block_id": INPUT_BLOCK, "input_default": {"name": "key", "secret": True}},
            {"id": "fill", "block_id": TEMPLATE_BLOCK, "input_default": {"format": "The door is open."}},
            {"id": "out", "block_id": OUTPUT_BLOCK, "input_default": {"name": "said"}},
        ],
        "links": [
            {"source_id": "in", "source_name": "result", "sink_id": "fill", "sink_name": "values_#_key"},
            {"source_id": "fill", "source_name": "output", "sink_id": "out", "sink_name": "value"},
        ],
    }


def slow_agent(hold: str) -> dict[str, Any]:
    """An agent that passes a name on when there is a file `hold`."""
    return {
        "name": "Slow",
        "description": "Takes its time.",
        "nodes": [
            {"id": "in", "block_id": INPUT_BLOCK, "input_default": {"name": "name"}},
            {"id": "sleep", "block_id": SLEEP_BLOCK, "input_default": {"hold": hold}},
            {"id": "out", "block_id": OUTPUT_BLOCK, "input_default": {"name": "slept"}},
        ],
        "links": [
            {"source_id": "in", "source_name": "result", "sink_id": "sleep", "sink_name": "value"},
            {"source_id": "sleep", "source_name": "value", "sink_id": "out", "sink_name": "value"},
        ],
    }


def long_conversation(stack: Stack, messages: int) -> str:
    """The id of a conversation with so many messages, written straight into the database."""
    return in_django(stack, FILL % (messages // 2)).split("SESSION ")[1].strip()


def spend_for_a_month(stack: Stack) -> None:
    in_django(stack, SPEND)


def login_address(stack: Stack) -> str:
    """Where `./copilot login_link` sends ann, on this stack."""
    done = subprocess.run(
        [sys.executable, "manage.py", "login_link", "ann"],
        cwd=ROOT,
        env=stack.environment(),
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return stack.url() + "/login/" + done.stdout.strip().rpartition("/login/")[2]


def in_django(stack: Stack, program: str) -> str:
    done = subprocess.run(
        [sys.executable, "manage.py", "shell", "--no-imports", "-c", program],
        cwd=ROOT,
        env=stack.environment(),
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def greeter(stack: Stack) -> str:
    """The id of an agent in ann's library that greets."""
    return str(answer_of(stack.client().http.post("/api/agents", json=GREETER))["id"])


def finished_run(stack: Stack, agent: str, name: str) -> str:
    """The id of a run of the greeter that has completed."""
    http = stack.client().http
    run = answer_of(http.post(f"/api/agents/{agent}/execute", json={"inputs": {"name": name}}))["id"]
    eventually(lambda: http.get(f"/api/executions/{run}").json()["status"] == "COMPLETED", what="the run")
    return str(run)


def answer_of(response: Any) -> dict[str, Any]:
    assert response.is_success, f"{response.request.url}: {response.status_code} {response.text}"
    found: dict[str, Any] = json.loads(response.text)
    return found
