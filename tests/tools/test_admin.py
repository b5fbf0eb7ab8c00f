"""Operators see what was called, and neither secrets nor a way to change the past."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from accounts.models import User
from tests.tools.conftest import Bench, call
from tools.models import FeatureRequest, ToolCall, Understanding


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
