"""Operators see presets of inputs without their secrets, and can delete them."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from accounts.models import User
from executions.agents.agent_import import import_agent
from executions.models import Agent, Preset
from tests.executions.agents.samples import adder


@pytest.fixture
def admin(ada: User) -> Client:
    client = Client()
    client.force_login(User.objects.create(username="root", is_staff=True, is_superuser=True))
    return client


@pytest.fixture
def preset(ada: User) -> Preset:
    agent = import_agent(ada, adder()).agent
    inputs = {"Number": 8, "password": "hunter2hunter2"}
    return Preset.objects.create(user=ada, agent=agent, name="Each morning", inputs=inputs)


def test_a_preset_is_found_and_opened_without_secrets_and_not_changed(admin: Client, preset: Preset) -> None:
    assert (
        b"Each morning" in admin.get(reverse("admin:executions_preset_changelist"), {"q": "morning"}).content
    )
    change = reverse("admin:executions_preset_change", args=[preset.pk])
    page = admin.get(change).content.decode()
    assert "REDACTED" in page and "hunter2" not in page
    admin.post(change, {"name": "Another"})
    preset.refresh_from_db()
    assert preset.name == "Each morning"
    assert admin.get(reverse("admin:executions_preset_add")).status_code == 403


def test_a_deleted_preset_leaves_its_agent(admin: Client, preset: Preset) -> None:
    admin.post(reverse("admin:executions_preset_delete", args=[preset.pk]), {"post": "yes"})
    assert not Preset.objects.exists() and Agent.objects.filter(pk=preset.agent_id).exists()


def test_staff_without_the_permission_sees_no_presets(preset: Preset) -> None:
    client = Client()
    client.force_login(User.objects.create(username="clerk", is_staff=True))
    assert client.get(reverse("admin:executions_preset_changelist")).status_code == 403
