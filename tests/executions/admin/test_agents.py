"""Operators see agents, versions and listings, can take them away, and cannot rewrite them."""

from __future__ import annotations

import pytest
from django.db.models import Model
from django.test import Client
from django.urls import reverse

from accounts.models import User
from executions.agents import store
from executions.agents.agent_import import import_agent
from executions.models import Agent, AgentVersion, StoreListing
from tests.executions.agents.samples import adder, newsroom


@pytest.fixture
def admin(ada: User) -> Client:
    client = Client()
    client.force_login(User.objects.create(username="root", is_staff=True, is_superuser=True))
    return client


def page(model: type[Model], kind: str, *args: object) -> str:
    return reverse(f"admin:executions_{model._meta.model_name}_{kind}", args=args)


@pytest.mark.parametrize("model", [Agent, AgentVersion, StoreListing])
def test_rows_are_listed_found_and_opened_but_not_changed(
    admin: Client, ada: User, model: type[Model]
) -> None:
    store.publish(import_agent(ada, newsroom()).agent)
    row = model._default_manager.first()
    assert row is not None
    assert b"ewsroom" in admin.get(page(model, "changelist"), {"q": "newsroom"}).content
    assert admin.get(page(model, "change", row.pk)).status_code == 200
    assert admin.get(page(model, "add")).status_code == 403
    assert admin.post(page(model, "delete", row.pk)).status_code == 403


def test_a_graph_shows_no_secret(admin: Client, ada: User) -> None:
    version = import_agent(ada, adder()).version
    graph = version.graph | {"password": "hunter2hunter2"}
    AgentVersion.objects.filter(pk=version.pk).update(graph=graph)
    shown = admin.get(page(AgentVersion, "change", version.pk)).content.decode()
    assert "REDACTED" in shown
    assert "hunter2" not in shown


def test_an_operator_takes_an_agent_out_and_withdraws_a_listing(admin: Client, ada: User) -> None:
    agent = import_agent(ada, adder()).agent
    listing = store.publish(agent)
    for model, row, action in ((StoreListing, listing, "withdraw"), (Agent, agent, "remove")):
        for _ in range(2):
            answer = admin.post(
                page(model, "changelist"), {"action": action, "sure": "yes", "_selected_action": [row.pk]}
            )
            assert answer.status_code == 302
    agent.refresh_from_db()
    listing.refresh_from_db()
    assert agent.deleted_at is not None
    assert listing.withdrawn_at is not None
