"""Actions of operators under load: F30 pause a user, F32 end turns while they stream."""

from __future__ import annotations

import random
import time

from accounts.models import User
from benchmarks.chaos.deployment import (
    paused_jobs,
    start_agent,
    wait_execution,
)
from benchmarks.chaos.field import Field
from benchmarks.chaos.scenario import scenario
from chat.models import Turn
from durable import jobs
from tests.harness import PEOPLE, Client, eventually


@scenario("F30", "one person is paused under load")
def pause_person(field: Field) -> None:
    """Jobs of the other user continue; those of the paused user start when the pause is over."""
    ann, bob = (field.stack.client(name) for name in PEOPLE[:2])
    paused = str(User.objects.get(username=PEOPLE[0]).pk)
    nodes = {"n": ("AI Text Generator", {"prompt": 'SCRIPT: {"steps": [{"text": "yes"}]}'})}
    with field.load():
        with paused_jobs("user", paused):
            eventually(lambda: not running_of(paused), what="the end of what ran before the pause")
            held = [start_agent(ann, nodes) for _ in range(field.pick(10, 60))]
            for _ in range(field.pick(2, 10)):
                wait_execution(bob, start_agent(bob, nodes))
            started = [one for one in held if status(ann, one) != "QUEUED"]
            if started:
                field.wrong.append(f"{len(started)} executions of a paused person were started")
        for one in held:
            wait_execution(ann, one)


def running_of(user: str) -> bool:
    return Turn.objects.filter(user_id=user, status=Turn.RUNNING).exists()


def status(client: Client, execution: str) -> str:
    return str(client._ok(client.http.get(f"/api/executions/{execution}"))["status"])


@scenario("F32", "operators end turns while their text streams", short=True)
def ended_by_operators(field: Field) -> None:
    """End turns by force: every reader ends with the text in the database."""
    ended = 0
    with field.load(per_second=2, words=60):
        for _ in range(field.pick(6, 60)):
            time.sleep(random.uniform(0.3, 1.0))
            running = list(field.running())
            if not running:
                continue
            act = random.choice((jobs.mark_failed, jobs.force_cancel))
            ended += act(Turn, random.choice(running))
    field.notes["ended by operators"] = ended
