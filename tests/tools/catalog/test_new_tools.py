"""Follow-ups, to-do lists, web search, triggers, credentials and presets as the model calls them."""

from __future__ import annotations

from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from django.utils import timezone
from pytest_django import Settings

from accounts.models import LedgerEntry, User
from durable.encryption import seal
from executions.models import Agent, Execution, Preset, StoredCredential, Trigger
from tests.tools.catalog.conftest import Caller, save_greeter
from tests.tools.conftest import Bench
from tools import limits, registry
from tools.models import FollowUp, TodoList

pytestmark = pytest.mark.django_db


# --- follow-ups -----------------------------------------------------------------------------------


def test_a_follow_up_is_kept_once_per_call_with_its_time(caller: Caller) -> None:
    made = caller.call("schedule_followup", key="k", prompt=" Look again ", in_minutes=90)
    again = caller.call("schedule_followup", key="k", prompt="Look again", in_minutes=90)
    row = FollowUp.objects.get()
    assert (made["type"], made["followup"]["followup_id"]) == ("followup_scheduled", str(row.pk))
    assert again["followup"]["followup_id"] == str(row.pk)
    assert (row.prompt, row.session_id, row.fresh) == ("Look again", caller.session_id, False)
    assert row.next_run_at is not None
    assert timedelta(minutes=88) < row.next_run_at - timezone.now() < timedelta(minutes=92)


def test_a_time_without_an_offset_is_in_the_users_zone(caller: Caller) -> None:
    day = (timezone.now() + timedelta(days=40)).date()
    caller.call("schedule_followup", prompt="x", at=f"{day}T09:00:00")
    row = FollowUp.objects.get()
    assert row.next_run_at is not None
    assert row.next_run_at.astimezone(row.user.zone).strftime("%H:%M") == "09:00"  # Europe/Paris


def test_cron_repeats_and_new_session_is_kept(caller: Caller) -> None:
    made = caller.call("schedule_followup", prompt="x", cron="0 9 * * mon-fri", new_session=True)
    assert "Monday" in made["followup"]["when"] and made["followup"]["new_session"] is True
    assert "9" in made["message"]


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"in_minutes": 5, "cron": "0 9 * * *"},
        {"at": "2001-01-01T00:00:00Z"},
        {"at": "2999-01-01T00:00:00Z"},
        {"cron": "never"},
        {"cron": "* * 31 2 *"},
        {"in_minutes": -1},
    ],
)
def test_a_time_that_cannot_be_is_refused(caller: Caller, arguments: dict[str, Any]) -> None:
    assert caller.call("schedule_followup", prompt="x", **arguments)["type"] == "error"
    assert not FollowUp.objects.exists()


def test_only_so_many_follow_ups_wait(caller: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MAX_FOLLOW_UPS_PER_USER", 1)
    caller.call("schedule_followup", prompt="x", in_minutes=5)
    refused = caller.call("schedule_followup", prompt="y", in_minutes=5)
    assert (refused["error"], FollowUp.objects.count()) == ("too_many", 1)


def test_follow_ups_are_listed_and_cancelled_by_their_owner_only(caller: Caller, bob: User) -> None:
    made = caller.call("schedule_followup", prompt="x", in_minutes=5)["followup"]
    stranger = Caller(bob)
    assert stranger.call("list_followups")["followups"] == []
    assert stranger.call("cancel_followup", followup_id=made["followup_id"])["error"] == "not_found"
    assert caller.call("cancel_followup", followup_id="nonsense")["error"] == "not_found"
    assert [one["prompt"] for one in caller.call("list_followups")["followups"]] == ["x"]
    assert caller.call("cancel_followup", followup_id=made["followup_id"])["type"] == "followup_cancelled"
    assert caller.call("list_followups")["message"] == "No follow-ups are scheduled."


# --- to-do lists ----------------------------------------------------------------------------------


def test_a_to_do_list_is_replaced_as_a_whole_and_kept(caller: Caller) -> None:
    caller.call("update_todo_list", items=[{"text": " Read "}, {"text": "Write"}])
    ticked = [{"text": "Read", "status": "done"}, {"text": "Write", "status": "in_progress"}]
    shown = caller.call("update_todo_list", items=ticked)
    assert (shown["type"], shown["items"], shown["done"]) == ("todo_list", ticked, 1)
    assert shown["message"] == "1 of 2 done."
    assert TodoList.of(caller.session_id) == ticked


def test_a_to_do_list_has_known_states_and_a_size(bench: Bench) -> None:
    bad = bench.run_one("update_todo_list", items=[{"text": "x", "status": "perhaps"}])
    assert bad.output["error"] == "invalid_arguments"
    bench.step += 1
    many = bench.run_one("update_todo_list", items=[{"text": "x"}] * (limits.MAX_TODOS + 1))
    assert many.output["error"] == "invalid_arguments"


# --- web search -----------------------------------------------------------------------------------


def test_a_search_in_the_corpus_shows_its_sources_and_is_charged_once(
    caller: Caller, settings: Settings, tmp_path: Path
) -> None:
    settings.SEARCH_URL = ""
    settings.SEARCH_CORPUS = tmp_path
    (tmp_path / "leases.md").write_text("# Leases\nA lease is a claim with an end.\n")
    tool = registry.current().get("web_search")
    assert tool is not None and tool.available()
    found = caller.call("web_search", key="s", query="what is a lease")
    caller.call("web_search", key="s", query="what is a lease")
    assert found["type"] == "web_search"
    assert found["results"] == [
        {"title": "Leases", "url": "leases.md", "snippet": "A lease is a claim with an end."}
    ]
    assert LedgerEntry.objects.filter(description="Search The Web").count() == 1
    assert caller.channel.sources
    assert caller.call("web_search", query="zebra crossings")["type"] == "no_results"


def test_a_search_that_fails_says_so_and_none_is_offered_without_a_provider(
    caller: Caller, settings: Settings
) -> None:
    class Broken(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(500)
            self.end_headers()

        def log_message(self, *args: Any) -> None:
            return None

    server = ThreadingHTTPServer(("127.0.0.1", 0), Broken)
    Thread(target=server.serve_forever, daemon=True).start()
    settings.SEARCH_URL = f"http://127.0.0.1:{server.server_port}/search"
    try:
        failed = caller.call("web_search", query="leases")
    finally:
        server.shutdown()
        server.server_close()
    assert (failed["type"], failed["error"]) == ("error", "search_failed")
    settings.SEARCH_URL, settings.SEARCH_CORPUS = "", None
    tool = registry.current().get("web_search")
    assert tool is not None and not tool.available()


# --- triggers and credentials ---------------------------------------------------------------------


def test_a_trigger_is_made_once_and_its_address_is_not_told(caller: Caller, greeter: Agent) -> None:
    arguments = {"library_agent_id": str(greeter.pk), "name": "Orders", "signed": True}
    made = caller.call("create_trigger", key="t", **arguments)
    tool = registry.current().get("create_trigger")
    assert tool is not None and tool.lookup is not None
    known = tool.lookup(tool.args.model_validate(arguments), caller.context("t"))
    row = Trigger.objects.get()
    assert made["trigger"]["trigger_id"] == str(row.pk)
    assert known is not None and known.trigger["trigger_id"] == str(row.pk)  # type: ignore[attr-defined]
    assert row.token_hint not in str(made) and "/api/hooks/" not in str(made)
    listed = caller.call("list_triggers")["triggers"]
    assert [(one["name"], one["agent_name"], one["signed"]) for one in listed] == [
        ("Orders", greeter.name, True)
    ]


def test_a_trigger_for_anothers_agent_is_refused(caller: Caller, bob: User) -> None:
    theirs = save_greeter(bob)
    refused = caller.call("create_trigger", library_agent_id=str(theirs.pk), name="x")
    assert (refused["error"], Trigger.objects.count()) == ("not_found", 0)


def test_credentials_are_listed_by_name_only(caller: Caller, ada: User, bob: User) -> None:
    StoredCredential.objects.create(
        user=ada, provider="smtp", title="Work mail", kind="user_password", secret=seal("canary-word")
    )
    StoredCredential.objects.create(
        user=bob, provider="smtp", title="Bob's", kind="api_key", secret=seal("x")
    )
    found = caller.call("list_credentials")
    assert [(one["name"], one["provider"]) for one in found["stored"]] == [("Work mail", "smtp")]
    assert "canary" not in str(found) and "secret" not in str(found)
    assert caller.call("list_credentials", provider="github")["message"] == "There are no credentials."


# --- presets --------------------------------------------------------------------------------------


def test_a_preset_is_saved_changed_run_and_deleted(caller: Caller, greeter: Agent) -> None:
    made = caller.call(
        "save_preset", library_agent_id=str(greeter.pk), name="For Bob", inputs={"name": "Bob"}
    )
    preset_id = made["preset"]["preset_id"]
    assert (made["type"], made["preset"]["inputs"]) == ("preset_saved", {"name": "Bob"})
    caller.call("save_preset", preset_id=preset_id, inputs={"name": "Robert"})
    [shown] = caller.call("list_presets", library_agent_id=str(greeter.pk))["presets"]
    assert (shown["name"], shown["inputs"]) == ("For Bob", {"name": "Robert"})
    started = caller.call("run_preset", key="r", preset_id=preset_id)
    caller.call("run_preset", key="r", preset_id=preset_id)
    assert started["type"] == "execution_started"
    assert Execution.objects.get().inputs == {"name": "Robert"}
    caller.call("run_preset", preset_id=preset_id, inputs={"name": "Cleo"})
    assert Execution.objects.order_by("-queued_at").first().inputs == {"name": "Cleo"}  # type: ignore[union-attr]
    assert caller.call("delete_preset", preset_id=preset_id)["type"] == "preset_deleted"
    assert not Preset.objects.exists()


def test_inputs_that_do_not_fit_are_not_saved(caller: Caller, greeter: Agent) -> None:
    refused = caller.call("save_preset", library_agent_id=str(greeter.pk), name="x", inputs={"nope": 1})
    assert refused["type"] == "input_validation_error"
    assert not Preset.objects.exists()


def test_a_preset_of_someone_else_does_not_exist(caller: Caller, bob: User) -> None:
    theirs = Preset.objects.create(user=bob, agent=save_greeter(bob), name="x")
    for name in ("run_preset", "delete_preset", "save_preset"):
        assert caller.call(name, preset_id=str(theirs.pk))["error"] == "not_found"


def test_all_schemas_stay_below_the_limit() -> None:
    registry.current().check_size()
