"""/api/schedules, and what operators do with them."""

from __future__ import annotations

import uuid
from datetime import datetime
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from accounts.models import User
from executions.agents.library import remove_agent
from executions.models import Agent, Execution, Schedule
from executions.triggers import actions as triggers
from tests.executions.people import greeter_graph, import_valid, logged_in
from tests.executions.schedules.conftest import make

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("redis_server")]
URL = "/api/schedules"


def post(client: Client, url: str = URL, **body: Any) -> Any:
    return client.post(url, body, content_type="application/json")


def test_a_schedule_is_made_and_shown_with_its_next_run(as_ada: Client, agent: Agent) -> None:
    body = {"name": "Weekdays", "agent_id": str(agent.pk), "cron": "0 9 * * mon-fri"}
    answer = post(as_ada, **body, timezone="Europe/Berlin", inputs={"name": "Ada"})
    assert answer.status_code == 201, answer.json()
    shown = answer.json()
    assert shown["words"] == "At 09:00 on Monday through Friday (Europe/Berlin)"
    assert (shown["agent_name"], shown["version"], shown["inputs"]) == ("Greeter", None, {"name": "Ada"})
    assert datetime.fromisoformat(shown["next_run_at"]) > timezone.now()
    assert (shown["last_error"], shown["last_due_at"], shown["enabled"]) == (None, None, True)
    assert as_ada.get(URL).json()["results"] == [shown]
    assert as_ada.get(f"{URL}/{shown['id']}").json() == shown


@pytest.mark.parametrize(
    ("change", "field", "words"),
    [
        ({"cron": "every day"}, "cron", "such as `0 9 * * mon-fri`"),
        ({"timezone": "Mars"}, "timezone", "Europe/Paris"),
        ({"agent_id": str(uuid.uuid4())}, "agent_id", "no such agent in your library"),
        ({"agent_id": "nonsense"}, "agent_id", "UUID"),
        ({"inputs": {"nobody": 1}}, "inputs.nobody", "This agent takes: name"),
        ({"inputs": [1]}, "inputs", "dictionary"),
        ({"name": ""}, "name", "blank"),
        ({"version": 0}, "version", "1"),
    ],
)
def test_what_is_wrong_is_said_by_field(
    as_ada: Client, agent: Agent, change: dict[str, Any], field: str, words: str
) -> None:
    answer = post(as_ada, **{"name": "X", "agent_id": str(agent.pk), "cron": "0 9 * * *"} | change)
    assert answer.status_code == 400
    assert words in answer.json()["error"]["fields"][field][0]
    assert not Schedule.objects.exists()


def test_another_persons_or_a_deleted_agent_is_unknown(as_ada: Client, agent: Agent, bob: User) -> None:
    theirs = import_valid(bob, greeter_graph())
    agent.deleted_at = timezone.now()
    agent.save()
    for one in (theirs, agent):
        answer = post(as_ada, name="X", agent_id=str(one.pk), cron="0 9 * * *")
        assert "no such agent" in answer.json()["error"]["fields"]["agent_id"][0]


def test_it_is_changed_switched_and_deleted(as_ada: Client, agent: Agent) -> None:
    schedule = make(agent)
    url = f"{URL}/{schedule.pk}"

    def patch(**body: Any) -> Any:
        return as_ada.patch(url, body, content_type="application/json").json()

    off = patch(enabled=False)
    assert (off["enabled"], off["next_run_at"]) == (False, None)
    assert patch(cron="30 8 * * *", enabled=True)["next_run_at"] is not None
    assert patch(agent_id=str(uuid.uuid4()), name="Renamed")["agent_id"] == str(agent.pk)
    assert patch(version=1)["version"] == 1 and patch(version=None)["version"] is None
    assert as_ada.delete(url).status_code == 204
    assert as_ada.get(url).status_code == 404


def test_it_is_run_now(as_ada: Client, agent: Agent) -> None:
    url = f"{URL}/{make(agent).pk}/run"
    answer = post(as_ada, url, client_id="once")
    assert answer.status_code == 202
    assert post(as_ada, url, client_id="once").json() == answer.json()
    execution = Execution.objects.get()
    assert answer.json() == {"execution_id": str(execution.pk), "status": "QUEUED"}
    Agent.objects.update(deleted_at=timezone.now())
    refused = post(as_ada, url)
    assert refused.status_code == 409 and "was deleted" in refused.json()["error"]["message"]


def test_nobody_else_sees_changes_or_runs_it(agent: Agent, bob: User) -> None:
    url = f"{URL}/{make(agent).pk}"
    stranger = logged_in(bob)
    assert stranger.get(URL).json()["results"] == []
    answers = [stranger.get(url), stranger.delete(url), post(stranger, f"{url}/run")]
    answers.append(stranger.patch(url, {"enabled": False}, content_type="application/json"))
    assert {answer.status_code for answer in answers} == {404}
    assert Client().get(URL).status_code in (401, 403)


def test_operators_run_and_switch_and_it_is_written_down(operator: Client, agent: Agent) -> None:
    schedule = make(agent, inputs={"name": "Ada"})
    listing, page = "/admin/executions/schedule/", f"/admin/executions/schedule/{schedule.pk}/change/"
    assert "Daily" in operator.get(listing).content.decode()
    assert "Ada" in operator.get(page).content.decode()
    for action in ("run", "switch_off", "switch_on"):
        done = operator.post(listing, {"action": action, "_selected_action": [str(schedule.pk)]}, follow=True)
        assert "1 " in done.content.decode()
    assert Execution.objects.count() == 1
    history = operator.get(page.replace("change", "history")).content.decode()
    assert all(words in history for words in ("Started.", "Switched off.", "Switched on."))
    Agent.objects.update(deleted_at=timezone.now())
    act = {"action": "run", "_selected_action": [str(schedule.pk)]}
    assert "was deleted" in operator.post(listing, act, follow=True).content.decode()


def test_what_starts_an_agent_by_itself_is_switched_off_when_the_agent_is_removed(agent: Agent) -> None:
    schedule = make(agent)
    trigger = triggers.create(agent.user, triggers.NewTrigger(agent=agent, name="Call")).trigger
    remove_agent(agent)
    schedule.refresh_from_db()
    trigger.refresh_from_db()
    assert (schedule.enabled, schedule.next_run_at, trigger.enabled) == (False, None, False)
