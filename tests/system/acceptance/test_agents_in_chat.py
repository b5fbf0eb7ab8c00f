"""A person and the offline model, over the public API only: agents built, run, changed, scheduled, approved."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.harness import Client, Stack, eventually, running_stack


@pytest.fixture(scope="module")
def stack(short_tmp: Path) -> Iterator[Stack]:
    with running_stack(short_tmp / "agents", workers=1, webs=1) as running:
        yield running


class Person:
    """Somebody in one conversation who waits until everything has settled before they read on."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.session = client.new_session()
        self.heard = 0

    def say(self, words: str) -> None:
        """Send it and look away."""
        self.heard = len(self.answers(self.client.session(self.session)))
        self.client.send(self.session, words)

    def answers(self, shown: dict[str, Any]) -> list[str]:
        return [message["content"] for message in shown["messages"] if message["role"] == "assistant"]

    def on(self, device: Client) -> Person:
        """The same conversation from somewhere else."""
        other = Person.__new__(Person)
        other.client, other.session, other.heard = device, self.session, self.heard
        return other

    def hears(self, *words: str) -> str:
        """The newest answer, once it has these words in it and nothing is under way."""

        def settled() -> str:
            shown = self.client.session(self.session)
            if shown["active_turn"] is not None:
                return ""
            said = self.answers(shown)
            new = len(said) > self.heard and said[-1]
            return new if new and all(word in new for word in words) else ""

        try:
            return eventually(settled, what=f"an answer with {words}")
        except AssertionError as error:
            shown = self.client.session(self.session)["messages"]
            raise AssertionError(f"{error}; the conversation: {json.dumps(shown)[-6000:]}") from None

    def asks(self, words: str, *expected: str) -> str:
        self.say(words)
        return self.hears(*expected)

    def results(self, tool: str) -> list[dict[str, Any]]:
        """What a tool answered in this conversation, oldest first."""
        messages = self.client.session(self.session)["messages"]
        parts = [part for message in messages for part in message["parts"]]
        return [part["output"] for part in parts if part["type"] == f"tool-{tool}" and part.get("output")]

    def get(self, path: str) -> Any:
        answer = self.client.http.get(path)
        assert answer.status_code == 200, answer.text
        return answer.json()


@pytest.fixture
def person(stack: Stack) -> Person:
    return Person(stack.client())


def backdate(stack: Stack, execution_id: str) -> None:
    """Make a run one of yesterday; nobody can wait that long."""
    key = execution_id.replace("-", "")
    [(queued_at,)] = stack.sql("SELECT queued_at FROM executions_execution WHERE id = ?", key)
    day_before = datetime.fromisoformat(queued_at) - timedelta(days=1)
    stack.sql("UPDATE executions_execution SET queued_at = ? WHERE id = ?", day_before.isoformat(" "), key)


def test_a_person_builds_runs_changes_and_schedules_an_agent(stack: Stack, person: Person) -> None:
    # It lacks something, so it is asked about.
    person.asks("build me an agent that fills a letter template", "What should the text say?")
    person.asks("Dear {{name}}, welcome to {{city}}.", "saved in the library")
    made = person.results("create_agent")[-1]
    assert made["type"] == "agent_saved"
    agent = made["agent_id"]
    assert made["library_agent_link"] == f"/library/agents/{agent}"
    assert person.get(f"/api/agents/{agent}")["validation"]["valid"]

    # It is run with inputs, and waited for.
    person.asks("run it with name=Ada, city=Porto", "Dear Ada, welcome to Porto.")
    execution = person.results("run_agent")[-1]["execution"]["execution_id"]
    assert person.get(f"/api/executions/{execution}")["outputs"] == {"text": ["Dear Ada, welcome to Porto."]}

    # What it gave out yesterday.
    person.asks("show yesterday's output", "has no completed run")
    backdate(stack, execution)
    person.asks("show me yesterday's output", "Dear Ada, welcome to Porto.")

    # It is changed, and nothing else is.
    person.asks("also count the words", "as version 2")
    diff = person.get(f"/api/agents/{agent}/diff?from=1&to=2")
    assert (len(diff["nodes"]["added"]), diff["nodes"]["removed"], diff["nodes"]["changed"]) == (2, [], [])
    assert (diff["links"]["removed"], diff["links"]["changed"], diff["graph"]) == ([], [], [])
    person.asks("run it with name=Ada, city=Porto", "word_count")
    outputs = person.results("run_agent")[-1]["execution"]["outputs"]
    assert outputs == {"text": ["Dear Ada, welcome to Porto."], "word_count": [5]}

    # It runs by the clock from now on.
    person.asks("schedule it every day at 9 with name=Ada, city=Porto", "is scheduled")
    schedules = person.get("/api/schedules")
    rows = schedules["results"] if isinstance(schedules, dict) else schedules
    assert [(row["cron"], row["inputs"]) for row in rows] == [("0 9 * * *", {"name": "Ada", "city": "Porto"})]
    person.asks("show my schedules", "There is 1 schedule.")


def test_a_person_approves_in_the_middle_of_a_run(person: Person) -> None:
    person.asks("build an agent that greets people by name but asks me first", "saved in the library")
    person.asks("run it with name=Eve", "is waiting for a review")
    person.heard += 1
    (review,) = [row for row in person.get("/api/reviews")["results"] if row["data"] == "Hello Eve!"]
    answer = person.client.http.post(f"/api/reviews/{review['id']}/decide", json={"approved": True})
    assert answer.status_code == 200, answer.text
    person.hears("Hello Eve!")  # without a word: it was called back when the run ended
    assert person.results("view_agent_output")[-1]["execution"]["status"] == "COMPLETED"


def test_a_block_is_run_from_the_chat(person: Person) -> None:
    person.asks("run the Word Character Count block with text=one two three", "word_count", "3")


def test_the_client_may_be_gone_during_the_long_part_and_finds_the_result(
    stack: Stack, person: Person
) -> None:
    """Nobody reads, nobody polls, the connection is closed: another device finds it all."""
    person.say("build an agent that counts the words of a text")
    person.client.http.close()
    again = person.on(stack.client())
    again.hears("saved in the library")
    again.asks("start a sub-session to research leases", "The sub-session has finished")
    assert "lease" in again.results("run_sub_session")[-1]["response"].lower()


@pytest.mark.chaos
@pytest.mark.parametrize("point", ["operation_begun", "agent_saved"])
def test_a_worker_killed_while_it_builds_leaves_one_agent(
    new_stack: Callable[..., Stack], point: str
) -> None:
    stack = new_stack(workers=0)
    stack.start_worker(0, crash_at=point)
    stack.wait_ready(1)
    person = Person(stack.client())
    person.say("build an agent that counts the words of a text")
    eventually(lambda: stack.processes["worker0"].poll() is not None, what="the crash")
    stack.start_worker(1)
    person.hears("saved in the library")
    listed = person.get("/api/agents")["results"]
    assert len(listed) == 1, listed
    assert [made["agent_id"] for made in person.results("create_agent")] == [listed[0]["id"]]


@pytest.mark.chaos
def test_a_worker_killed_while_a_run_is_waited_for_leaves_one_execution(
    new_stack: Callable[..., Stack],
) -> None:
    stack = new_stack(workers=1)
    person = Person(stack.client())
    person.asks("build an agent that counts the words of a text", "saved in the library")
    stack.kill("worker0")
    stack.start_worker(1, crash_at="after_effect")
    person.say("run it with text=one two three")
    eventually(lambda: stack.processes["worker1"].poll() is not None, what="the crash")
    stack.start_worker(2)
    person.hears("word_count")
    executions = person.get("/api/executions")["results"]
    assert [(row["status"], row["outputs"]["word_count"]) for row in executions] == [("COMPLETED", [3])]
