"""What remains of an agent that was deleted: its runs, and schedules and triggers that cannot start it any more."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from accounts.models import User
from executions.agents.library import remove_agent
from executions.agents.store import publish
from executions.models import Agent, Review, TriggerDelivery
from tests.executions.people import greeter_graph, import_valid, logged_in, make_execution

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("redis_server")]
INPUTS = {"name": "Ada"}


@pytest.fixture
def greeter_agent(ada: User) -> Agent:
    return import_valid(ada, greeter_graph())


def post(client: Client, path: str, **body: Any) -> Any:
    return client.post(f"/api/{path}", body, content_type="application/json")


def patch(client: Client, path: str, **body: Any) -> Any:
    return client.patch(f"/api/{path}", body, content_type="application/json")


def test_uses_of_an_agent_are_counted_before_it_is_deleted(
    as_ada: Client, greeter_agent: Agent, bob: User
) -> None:
    path = f"/api/agents/{greeter_agent.pk}/uses"
    assert as_ada.get(path).json() == {"schedules": 0, "triggers": 0, "listings": []}
    made = {"name": "N", "agent_id": str(greeter_agent.pk)}
    assert post(as_ada, "schedules", cron="0 9 * * *", inputs=INPUTS, **made).status_code == 201
    assert post(as_ada, "triggers", **made).status_code == 201
    listing = publish(greeter_agent)
    assert as_ada.get(path).json() == {
        "schedules": 1,
        "triggers": 1,
        "listings": [f"{listing.user.username}/{listing.slug}"],
    }
    assert logged_in(bob).get(path).status_code == 404


def test_schedule_and_trigger_of_a_deleted_agent_say_so_and_stay_off(
    as_ada: Client, greeter_agent: Agent
) -> None:
    made = {"name": "N", "agent_id": str(greeter_agent.pk)}
    rows = [
        f"schedules/{post(as_ada, 'schedules', cron='0 9 * * *', inputs=INPUTS, **made).json()['id']}",
        f"triggers/{post(as_ada, 'triggers', **made).json()['id']}",
    ]
    remove_agent(greeter_agent)
    for row in rows:
        shown = as_ada.get(f"/api/{row}").json()
        assert (shown["enabled"], shown["agent_removed"]) == (False, True)
        refused = patch(as_ada, row, enabled=True)
        assert refused.status_code == 409
        assert "was deleted" in refused.json()["error"]["message"]
        assert as_ada.get(f"/api/{row}").json()["enabled"] is False
        assert patch(as_ada, row, name="Renamed").status_code == 200


def test_run_of_a_deleted_agent_keeps_its_name_and_graph(
    as_ada: Client, greeter_agent: Agent, bob: User
) -> None:
    run = make_execution(greeter_agent)
    remove_agent(greeter_agent)
    shown = as_ada.get(f"/api/executions/{run.pk}").json()
    assert (shown["agent_name"], shown["agent_removed"]) == ("Greeter", True)
    path = f"/api/agents/{greeter_agent.pk}/versions/{run.version}"
    assert as_ada.get(path).json()["graph"]["nodes"]
    assert logged_in(bob).get(path).status_code == 404
    assert as_ada.get(f"/api/agents/{greeter_agent.pk}").status_code == 404


def test_runs_are_filtered_by_what_started_them_and_say_what_was_rejected(
    as_ada: Client, greeter_agent: Agent, ada: User
) -> None:
    by_clock = make_execution(greeter_agent, source="schedule")
    make_execution(greeter_agent, source="chat")
    Review.objects.create(user=ada, key="k", execution=by_clock, name="Sure?", state="rejected")
    [found] = as_ada.get("/api/executions?source=schedule").json()["results"]
    assert (found["id"], found["rejected"]) == (str(by_clock.pk), True)
    [other] = as_ada.get("/api/executions?source=chat").json()["results"]
    assert other["rejected"] is False
    refused = as_ada.get("/api/executions?source=moon")
    assert refused.status_code == 400 and "source" in refused.json()["error"]["fields"]


def test_trigger_is_tried_out_and_a_payload_that_does_not_fit_names_its_field(
    as_ada: Client, ada: User, bob: User
) -> None:
    graph = greeter_graph()
    del graph["nodes"][0]["input_default"]["value"]  # without a default it has to be sent
    agent = import_valid(ada, graph)
    made = post(as_ada, "triggers", name="N", agent_id=str(agent.pk), scheme="hmac_sha256").json()
    path = f"triggers/{made['id']}/test"
    tried = post(as_ada, path, payload=INPUTS)
    assert tried.status_code == 202, tried.json()
    assert (tried.json()["state"], tried.json()["payload"]) == ("started", INPUTS)
    wrong = post(as_ada, path, payload={}).json()
    assert wrong["state"] == "failed" and "name: " in wrong["error"]
    assert TriggerDelivery.objects.count() == 2
    assert post(as_ada, path, payload="text").status_code == 400
    assert post(logged_in(bob), path, payload=INPUTS).status_code == 404


def test_listing_shows_the_graph_that_a_copy_gets(as_ada: Client, greeter_agent: Agent, bob: User) -> None:
    listing = publish(greeter_agent, categories=["Letters"])
    shown = logged_in(bob).get(f"/api/store/{listing.user.username}/{listing.slug}").json()
    assert shown["categories"] == ["Letters"]
    assert len(shown["graph"]["nodes"]) == len(
        as_ada.get(f"/api/agents/{greeter_agent.pk}").json()["graph"]["nodes"]
    )
