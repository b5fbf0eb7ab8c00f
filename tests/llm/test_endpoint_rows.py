"""Model endpoints of the admin: entered by HTTP, used by requests, their health shown, their keys never."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.test import Client
from pytest_django import Settings

import llm
from accounts.models import User
from copilot_project.ops.checks import parts
from copilot_project.ops.console.alerts import find_alerts
from copilot_project.ops.console.dashboard import read_dashboard
from durable.redis import client as redis
from durable.redis import key
from executions.credentials.rotation import rotate_all
from llm import RateLimited, endpoint_rows
from llm.endpoints import endpoints, locate
from llm.models import ModelEndpoint
from tests.harness import eventually
from tests.llm.conftest import Asked
from tests.llm.dialect_servers import KEY, Anthropic, Chat, Fault, ModelServer, Responses, Script, running

pytestmark = pytest.mark.django_db(transaction=True)
HELLO = Script(text=("one ", "two"))
FORM = {"dialect": "chat", "model_names": '["m"]', "prices": "{}", "vision": "unknown", "enabled": "on"}


@pytest.fixture(autouse=True)
def _nothing_set(settings: Settings, redis_server: object, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(llm.limits, "HEALTH_NOTE_SECONDS", 0.0)  # an earlier test may have noted an answer
    settings.OPENAI_API_KEY = settings.OPENAI_BASE_URL = settings.COPILOT_ENDPOINTS = ""
    settings.ANTHROPIC_API_KEY = settings.ANTHROPIC_BASE_URL = ""
    settings.COPILOT_MODEL = settings.COPILOT_TITLE_MODEL = settings.COPILOT_FALLBACK_MODEL = ""
    settings.ENV = type(settings.ENV).read({"COPILOT_ENDPOINTS": "unused"})
    yield
    for name in redis().scan_iter(key("health", "*")):
        redis().delete(name)


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with running(Chat()) as chat:
        chat.play(HELLO)
        yield chat


@pytest.fixture
def other() -> Iterator[ModelServer]:
    with running(Anthropic()) as anthropic:
        anthropic.play(HELLO)
        yield anthropic


@pytest.fixture
def admin() -> Client:
    client = Client()
    client.force_login(User.objects.create_superuser("root"))
    return client


def add(admin: Client, **fields: Any) -> ModelEndpoint:
    answer = admin.post("/admin/llm/modelendpoint/add/", FORM | fields)
    assert answer.status_code == 302, answer.content.decode()
    return ModelEndpoint.objects.get(name=fields["name"])


def change(admin: Client, row: ModelEndpoint, **fields: Any) -> str:
    path = f"/admin/llm/modelendpoint/{row.pk}/change/"
    answer = admin.post(path, FORM | {"name": row.name, "url": row.url} | fields)
    row.refresh_from_db()
    return "" if answer.status_code == 302 else answer.content.decode()


# --- use --------------------------------------------------------------------------------------------


def test_an_endpoint_of_the_admin_is_asked_with_its_key(admin: Client, server: ModelServer) -> None:
    row = add(
        admin, name="house", url=server.url, key=KEY, effort="high", prices='{"m": {"input": 1, "output": 1}}'
    )
    answer = Asked(model="house/m").run()
    assert (answer.text, llm.default_model()) == ("one two", "house/m") and answer.cost > 0
    assert server.asked[0].headers["authorization"] == f"Bearer {KEY}"
    assert server.asked[0].body["reasoning_effort"] == "high"
    assert KEY not in row.sealed_key


@pytest.mark.parametrize("protocol", [Anthropic, Responses])
def test_the_effort_is_said_in_each_dialect_and_left_out_where_it_is_refused(
    admin: Client, protocol: Any
) -> None:
    with running(protocol()) as server:
        server.play(HELLO)
        add(admin, name="far", url=server.url, key=KEY, dialect=server.protocol.name, effort="low")
        assert Asked(model="far/m").run().text == "one two"
        assert '"effort": "low"' in json.dumps(server.asked[0].body)
        error = {
            "type": "invalid_request_error",
            "message": "output_config.effort: not supported by this model",
        }
        error |= {"param": "reasoning.effort"} if server.protocol.name == "responses" else {}
        server.faults = [Fault(status=400, error=error)]
        assert Asked(model="far/m").run().text == "one two"
        assert '"effort"' not in json.dumps(server.asked[-1].body)


def test_a_change_is_known_at_once_here_and_by_the_next_sweep_elsewhere(
    admin: Client, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = add(admin, name="house", url=server.url, key=KEY)
    assert change(admin, row, enabled="") == ""
    with pytest.raises(llm.BadModelRequest):
        endpoints()
    ModelEndpoint.objects.filter(pk=row.pk).update(enabled=True)  # as another process does it: no signal here
    monkeypatch.setattr(llm.limits, "ENDPOINTS_FRESH_SECONDS", 0.0)
    endpoint_rows.after_sweep(sender=None)
    assert locate("house/m").endpoint.name == "house"
    row.delete()
    with pytest.raises(llm.BadModelRequest):
        endpoints()


def test_the_setting_wins_over_a_row_of_the_same_name_and_says_so(
    admin: Client, server: ModelServer, settings: Settings
) -> None:
    add(admin, name="house", url="http://127.0.0.1:9/v1")
    settings.COPILOT_ENDPOINTS = json.dumps(
        [{"name": "house", "url": server.url, "key": KEY, "models": ["m"]}]
    )
    assert Asked(model="house/m").run().text == "one two"
    assert len(endpoints()) == 1
    assert (
        "COPILOT_ENDPOINTS has one of the same name"
        in admin.get("/admin/llm/modelendpoint/").content.decode()
    )
    assert "house in the admin is not used" in " ".join(alert.text for alert in find_alerts(read_dashboard()))
    found = parts.model()
    assert found.ok and "house in the admin is not used" in found.message


def test_the_default_endpoint_of_the_admin_answers_where_nobody_picks(
    admin: Client, server: ModelServer, other: ModelServer, settings: Settings
) -> None:
    settings.OPENAI_BASE_URL = server.url
    add(admin, name="far", url=other.url, key=KEY, dialect="anthropic", is_default="on")
    assert llm.default_model() == "far/m"
    settings.COPILOT_MODEL = "something"
    assert llm.default_model() == "something"


def test_with_several_endpoints_no_alert_blames_the_default_model(admin: Client, server: ModelServer) -> None:
    add(admin, name="one", url=server.url, key=KEY)
    assert read_dashboard().model.name == "the default model"
    add(admin, name="two", url=server.url, key=KEY)
    assert read_dashboard().model.name == "models"


def test_doctor_lists_the_models_of_each(admin: Client, server: ModelServer, other: ModelServer) -> None:
    add(admin, name="house", url=server.url, key=KEY)
    add(admin, name="far", url=other.url, key=KEY, dialect="anthropic")
    message = parts.model().message
    assert f"house at {server.url} has embed-x" in message and f"far at {other.url} has embed-x" in message


# --- keys -------------------------------------------------------------------------------------------


def test_a_key_is_never_shown_again_and_kept_by_an_empty_field(admin: Client, server: ModelServer) -> None:
    row = add(admin, name="house", url=server.url, key=KEY)
    sealed = row.sealed_key
    pages = ["", f"{row.pk}/change/", f"{row.pk}/history/", f"{row.pk}/delete/"]
    shown = [admin.get(f"/admin/llm/modelendpoint/{page}").content.decode() for page in pages]
    shown.append(admin.get("/admin/").content.decode())
    assert not any(KEY in page or sealed in page for page in shown)
    assert change(admin, row, url=f"{server.url}/") == "" and row.sealed_key == sealed
    assert change(admin, row, remove_key="on") == "" and row.sealed_key == ""


def test_a_stored_key_does_not_move_to_another_server(admin: Client, server: ModelServer) -> None:
    row = add(admin, name="house", url=server.url, key=KEY)
    page = change(admin, row, url="http://somebody-else:8000/v1")
    assert "enter the key again" in page and KEY not in page
    assert "enter the key again" in change(admin, row, url="")
    assert row.url == server.url
    assert change(admin, row, url="http://somebody-else:8000/v1", key="another") == ""


def test_keys_are_encrypted_anew_with_the_others(
    admin: Client, server: ModelServer, settings: Settings
) -> None:
    from cryptography.fernet import Fernet

    row = add(admin, name="house", url=server.url, key=KEY)
    settings.ENCRYPTION_KEYS = [Fernet.generate_key().decode(), *settings.ENCRYPTION_KEYS]
    assert rotate_all().resealed == 1
    settings.ENCRYPTION_KEYS = settings.ENCRYPTION_KEYS[:1]
    endpoint_rows.refresh()
    assert locate("house/m").endpoint.api_key == KEY
    settings.ENCRYPTION_KEYS = [Fernet.generate_key().decode()]
    endpoint_rows.refresh()
    assert "No key in ENCRYPTION_KEYS" in endpoint_rows.known_rows().problems[0]
    assert row.name in endpoint_rows.known_rows().problems[0]


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"name": "a/b"}, "without /"),
        ({"url": "ftp://x"}, "http://"),
        ({"prices": '{"m": {"input": 1}}'}, "cannot be used"),
        ({"model_names": '"m"'}, "cannot be used"),
    ],
)
def test_what_cannot_be_used_is_refused_by_the_form(
    admin: Client, fields: dict[str, str], words: str
) -> None:
    answer = admin.post("/admin/llm/modelendpoint/add/", FORM | {"name": "a", "key": KEY} | fields)
    page = answer.content.decode()
    assert answer.status_code == 200 and words in page and KEY not in page


# --- health and fallback ----------------------------------------------------------------------------


def test_the_operations_room_shows_how_each_endpoint_is_doing(
    admin: Client, server: ModelServer, other: ModelServer, settings: Settings
) -> None:
    add(admin, name="house", url=server.url, key=KEY)
    add(admin, name="far", url=other.url, key=KEY, dialect="anthropic")
    add(admin, name="idle", url="http://127.0.0.1:9/v1")
    settings.COPILOT_FALLBACK_MODEL = "far/m"
    server.faults = [Fault(cut_at=3, times=99)]
    assert Asked(model="house/m").run().model == "far/m"

    def states() -> dict[str, str]:
        return {row.name: row.state for row in read_dashboard().endpoints}

    eventually(
        lambda: states() == {"house": "failing", "far": "ok", "idle": "not asked"}, seconds=10, what="states"
    )
    page = admin.get("/admin/").content.decode()
    assert "failing since" in page and "cut off" in page and KEY not in page
    assert "endpoint house has been failing" in " ".join(
        alert.text for alert in find_alerts(read_dashboard())
    )
    server.faults = []
    assert Asked(model="house/m").run().model == "house/m"
    eventually(lambda: states()["house"] == "ok", seconds=10, what="health")


def test_a_request_at_fault_itself_says_nothing_about_the_endpoint(
    admin: Client, server: ModelServer
) -> None:
    add(admin, name="house", url=server.url, key=KEY)
    server.faults = [Fault(status=400, error={"message": "this is no good"}), Fault(status=401)]
    with pytest.raises(llm.BadModelRequest):
        Asked(model="house/m").run()
    assert read_dashboard().endpoints[0].state == "not asked"
    with pytest.raises(llm.BadModelRequest):
        Asked(model="house/m").run()
    eventually(lambda: read_dashboard().endpoints[0].state == "failing", seconds=10, what="health")


def test_a_long_pause_leads_to_another_endpoint_and_not_to_another_model_of_the_same(
    admin: Client, server: ModelServer, other: ModelServer, settings: Settings
) -> None:
    add(admin, name="house", url=server.url, key=KEY)
    server.faults = [Fault(status=429, headers={"retry-after": "600"}, times=99)]
    settings.COPILOT_FALLBACK_MODEL = "house/small"
    with pytest.raises(RateLimited):
        Asked(model="house/m").run()
    assert len(server.asked) == 1
    add(admin, name="far", url=other.url, key=KEY, dialect="anthropic")
    settings.COPILOT_FALLBACK_MODEL = "house/small, far/m"
    assert Asked(model="house/m").run().model == "far/m"
    assert len(server.asked) == 2
    other.faults = [Fault(status=503, times=99)]
    with pytest.raises(RateLimited):
        Asked(model="house/m").run()


def test_groups_are_read_with_the_row(admin: Client) -> None:
    group = Group.objects.create(name="staff")
    add(admin, name="house", url="http://x/v1", groups=str(group.pk))
    assert locate("house/m").endpoint.groups == ("staff",)


def test_an_endpoint_added_a_moment_ago_elsewhere_is_asked_all_the_same(
    admin: Client, server: ModelServer, other: ModelServer, settings: Settings
) -> None:
    settings.OPENAI_BASE_URL = other.url
    add(admin, name="house", url=server.url, key=KEY)
    endpoint_rows.remember(endpoint_rows.EndpointRows())  # as a worker knows them that read them before
    assert locate("house/m").endpoint.base_url == other.url
    assert Asked(model=llm.picked_model("house/m")).run().text == "one two"
    assert len(server.asked) == 1 and not other.asked
