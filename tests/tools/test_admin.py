"""Operators see what was called, and neither secrets nor a way to change the past."""

from __future__ import annotations

import uuid
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from accounts.models import User
from durable.clock import database_now
from tests.tools.conftest import Bench, call
from tools.models import FeatureRequest, FollowUp, ToolCall, Understanding


@pytest.fixture
def admin(user: User) -> Client:
    client = Client()
    client.force_login(User.objects.create(username="root", is_staff=True, is_superuser=True))
    return client


def test_a_call_is_shown_with_its_secrets_blotted_out(admin: Client, bench: Bench) -> None:
    bench.run(call("test_pure", value="v"))
    row = bench.row("c1")
    ToolCall.objects.filter(pk=row.pk).update(
        arguments={"value": "v", "headers": {"Authorization": "hunter2"}}
    )
    listing = admin.get(reverse("admin:tools_toolcall_changelist"), {"q": str(bench.turn_id)})
    assert listing.status_code == 200 and b"test_pure" in listing.content
    page = admin.get(reverse("admin:tools_toolcall_change", args=[row.pk])).content.decode()
    assert "[REDACTED]" in page and "hunter2" not in page


def test_arguments_that_are_not_json_are_not_shown(admin: Client, bench: Bench) -> None:
    bench.run(call("test_pure", value="v"))
    ToolCall.objects.update(arguments='{"api_key": "hunter2"')
    page = admin.get(reverse("admin:tools_toolcall_change", args=[bench.row("c1").pk])).content.decode()
    assert "characters that are not JSON" in page and "hunter2" not in page


def test_calls_cannot_be_changed_added_or_deleted(admin: Client, bench: Bench) -> None:
    bench.run(call("test_pure", value="v"))
    pk = bench.row("c1").pk
    assert (
        admin.post(reverse("admin:tools_toolcall_change", args=[pk]), {"state": "failed"}).status_code == 403
    )
    assert admin.get(reverse("admin:tools_toolcall_add")).status_code == 403
    assert admin.post(reverse("admin:tools_toolcall_delete", args=[pk])).status_code == 403


def test_staff_without_the_permission_sees_nothing(user: User) -> None:
    client = Client()
    client.force_login(User.objects.create(username="clerk", is_staff=True))
    assert client.get(reverse("admin:tools_toolcall_changelist")).status_code == 403


def test_wishes_and_facts_are_listed(admin: Client, user: User) -> None:
    FeatureRequest.support(user.pk, "Dark mode", "My eyes.")
    Understanding.add(user.pk, {"industry": "bakery"})
    for name in ("featurerequest", "featuresupport", "understanding"):
        assert admin.get(reverse(f"admin:tools_{name}_changelist")).status_code == 200
    assert b"bakery" in admin.get(reverse("admin:tools_understanding_change", args=[user.pk])).content


def follow_up(user: User, **facts: Any) -> FollowUp:
    values = {"key": "k1", "prompt": "Look after the oven.", "session_id": uuid.uuid4(), "cron": "0 9 * * *"}
    return FollowUp.objects.create(user=user, **values | facts)


def test_a_follow_up_is_found_opened_run_and_cancelled(admin: Client, user: User) -> None:
    row = follow_up(user, next_run_at=database_now() + timedelta(days=1))
    listing = reverse("admin:tools_followup_changelist")
    assert b"0 9 * * *" in admin.get(listing, {"q": user.username}).content
    page = admin.get(reverse("admin:tools_followup_change", args=[row.pk])).content.decode()
    assert "Look after the oven." in page
    admin.post(listing, {"action": "run", "_selected_action": [row.pk]})
    row.refresh_from_db()
    assert row.next_run_at is not None and row.next_run_at <= database_now()
    for _ in range(2):  # the second time there is nothing to cancel
        said = admin.post(listing, {"action": "cancel", "_selected_action": [row.pk]}, follow=True)
        row.refresh_from_db()
        assert said.status_code == 200 and row.next_run_at is None


def test_a_follow_up_is_neither_made_nor_rewritten_by_hand(admin: Client, user: User) -> None:
    row = follow_up(user, permissions={"headers": {"Authorization": "hunter2"}})
    assert admin.get(reverse("admin:tools_followup_add")).status_code == 403
    change = reverse("admin:tools_followup_change", args=[row.pk])
    admin.post(change, {"prompt": "Something else."})
    row.refresh_from_db()
    assert row.prompt == "Look after the oven." and "hunter2" not in admin.get(change).content.decode()
