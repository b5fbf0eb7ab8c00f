"""/api/agents and /api/store over HTTP."""

from __future__ import annotations

import json
import uuid
from typing import Any

import pytest
from rest_framework.test import APIClient

from accounts.models import User
from executions import limits
from executions.agents import store
from executions.agents.agent_import import import_agent
from tests.executions.agents.samples import adder, agent, newsroom, node, old_discord_template

JSON = Any


def client_of(user: User) -> APIClient:
    client = APIClient()
    client.force_authenticate(user)
    return client


@pytest.fixture
def client(ada: User) -> APIClient:
    return client_of(ada)


def bring(client: APIClient, document: JSON = None) -> dict[str, JSON]:
    answer = client.post("/api/agents", document or adder(), format="json")
    assert answer.status_code == 201, answer.content
    body: dict[str, JSON] = answer.json()
    return body


def error_of(answer: Any, status: int, code: str) -> dict[str, JSON]:
    assert answer.status_code == status, answer.content
    error: dict[str, JSON] = answer.json()["error"]
    assert error["code"] == code
    return error


def test_an_import_answers_with_the_agent_and_its_validation(client: APIClient) -> None:
    made = bring(client)
    assert (made["name"], made["version"], made["source"], made["valid"]) == ("Sample", 1, "imported", True)
    assert made["validation"] == {"valid": True, "errors": [], "warnings": []}
    assert made["input_schema"]["required"] == ["Number"]
    assert list(made["output_schema"]["properties"]) == ["Sum"]
    assert client.get(f"/api/agents/{made['id']}").json() == made


def test_an_agent_that_cannot_run_yet_is_kept_and_says_why(client: APIClient) -> None:
    made = bring(client, old_discord_template())
    assert made["valid"] is made["validation"]["valid"] is False
    error = made["validation"]["errors"][0]
    assert (error["code"], error["node_id"]) == ("unknown_block", "send")
    assert error["message"].startswith("Send Discord Message is not installed here.")
    assert error["block"] == {
        "id": "d0822ab5-9f8a-44a3-8971-531dd0178b6b",
        "name": "Send Discord Message",
        "provider": "Discord",
        "nearest": "Send Authenticated Web Request",
        "node_ids": ["send"],
        "replaceable": False,
    }


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ("[]", 400, "not_a_graph"),
        ("{}", 400, "not_a_graph"),
        ('{"nodes": 1}', 400, "not_a_graph"),
        ('{"nodes": [{"id": {}}]}', 400, "not_a_graph"),
        ('{"nodes": [NaN]}', 400, "bad_json"),
        ('{"nodes": [' + "[" * 5_000 + "]" * 5_000 + "]}", 400, "bad_json"),
        (json.dumps(agent([{"id": str(n)} for n in range(10_000)])), 413, "graph_too_large"),
        (json.dumps(agent([node("n", "Note", text="x" * 600_000)])), 413, "graph_too_large"),
        ('{"nodes": "' + "x" * 6_000_000 + '"}', 413, "too_large"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_what_is_no_agent_gets_a_clear_error(client: APIClient, body: str, status: int, code: str) -> None:
    answer = client.post("/api/agents", body, content_type="application/json")
    assert len(error_of(answer, status, code)["message"]) > 20
    assert client.get("/api/agents").json()["results"] == []


def test_the_library_is_listed_in_pages_without_sub_agents(client: APIClient) -> None:
    made = [bring(client, adder(name=f"Agent {number}"))["id"] for number in range(3)]
    room = bring(client, newsroom())["id"]
    first = client.get("/api/agents?limit=2").json()
    assert [one["id"] for one in first["results"]] == [room, made[2]]
    second = client.get(f"/api/agents?limit=2&cursor={first['next']}").json()
    assert [one["id"] for one in second["results"]] == [made[1], made[0]]
    assert second["next"] is None
    assert "graph" not in first["results"][0]


def test_the_library_is_searched(client: APIClient) -> None:
    weather = bring(client, adder(name="Weather Reporter"))["id"]
    bring(client, adder(name="News Digest"))
    found = client.get("/api/agents?search=reportr wether").json()["results"]
    assert [one["id"] for one in found] == [weather]
    error_of(client.get(f"/api/agents?search={'x' * 101}"), 400, "query_too_long")


def test_a_name_a_description_and_a_graph_can_be_changed(client: APIClient) -> None:
    made = bring(client)
    address = f"/api/agents/{made['id']}"
    renamed = client.patch(address, {"name": "Adding machine", "description": ""}, format="json").json()
    assert (renamed["name"], renamed["version"]) == ("Adding machine", 1)
    graph = adder()
    graph["nodes"][1]["input_default"]["operation"] = "Divide"
    changed = client.patch(address, {"graph": graph, "note": "by it", "on_version": 1}, format="json").json()
    assert (changed["version"], changed["name"]) == (2, "Adding machine")
    assert changed["graph"]["nodes"][1]["input_default"]["operation"] == "Divide"
    error_of(
        client.patch(address, {"graph": graph | {"x": 1}, "on_version": 1}, format="json"),
        409,
        "version_moved",
    )
    error_of(client.patch(address, {"graph": {"nodes": 1}}, format="json"), 400, "not_a_graph")
    error_of(client.patch(address, {"name": ""}, format="json"), 400, "invalid")


def test_versions_are_listed_looked_at_compared_and_gone_back_to(client: APIClient) -> None:
    made = bring(client)
    address = f"/api/agents/{made['id']}"
    graph = adder()
    graph["nodes"][1]["input_default"]["b"] = 35
    client.patch(address, {"graph": graph, "note": "one more"}, format="json")
    listed = client.get(f"{address}/versions").json()["results"]
    assert [(one["version"], one["note"], one["valid"]) for one in listed] == [
        (2, "one more", True),
        (1, "", True),
    ]
    first = client.get(f"{address}/versions/1").json()
    assert (first["graph"], first["validation"]["valid"]) == (made["graph"], True)
    for query in ("", "?from=1&to=2"):
        diff = client.get(f"{address}/diff{query}").json()
        assert (diff["from_version"], diff["to_version"]) == (1, 2)
        assert diff["nodes"]["changed"] == [
            {"id": "add", "changes": [{"field": "input_default.b", "before": 34, "after": 35}]}
        ]
    back = client.post(f"{address}/rollback", {"version": 1}, format="json").json()
    assert (back["version"], back["graph"]["nodes"]) == (3, made["graph"]["nodes"])
    error_of(client.post(f"{address}/rollback", {"version": 9}, format="json"), 404, "not_found")
    error_of(client.post(f"{address}/rollback", {}, format="json"), 400, "invalid")
    error_of(client.get(f"{address}/versions/9"), 404, "not_found")
    error_of(client.get(f"{address}/diff?from=x"), 400, "invalid")
    error_of(client.get(f"{address}/diff?to=1"), 400, "invalid")


def test_an_export_can_be_imported_by_somebody_else(client: APIClient, bob: User) -> None:
    made = bring(client, newsroom())
    answer = client.get(f"/api/agents/{made['id']}/export")
    assert answer["Content-Disposition"] == 'attachment; filename="newsroom.json"'
    copy = bring(client_of(bob), answer.json())
    assert (copy["name"], copy["valid"], len(copy["sub_agents"])) == ("Newsroom", True, 3)
    error_of(client.get(f"/api/agents/{made['id']}/export?version=9"), 404, "not_found")


def test_an_agent_is_validated_anew(client: APIClient) -> None:
    made = bring(client, old_discord_template())
    report = client.post(f"/api/agents/{made['id']}/validate").json()
    assert (report["valid"], report["errors"]) == (False, made["validation"]["errors"])


def test_a_fix_is_shown_then_saved_as_a_version(client: APIClient) -> None:
    graph = adder()
    graph["links"][1]["source_name"] = "reslt"
    made = bring(client, graph)
    address = f"/api/agents/{made['id']}/fix"
    shown = client.post(address, {"save": False}, format="json").json()
    assert (shown["changed"], shown["version"], shown["validation"]["valid"]) == (True, 1, True)
    saved = client.post(address).json()
    assert (saved["version"], [one["code"] for one in saved["fixes"]]) == (2, ["unknown_pin"])
    again = client.post(address).json()
    assert (again["changed"], again["version"], again["fixes"]) == (False, 2, [])
    assert client.get(f"/api/agents/{made['id']}").json()["valid"] is True


def test_a_deleted_agent_is_gone(client: APIClient) -> None:
    made = bring(client)
    address = f"/api/agents/{made['id']}"
    assert client.delete(address).status_code == 204
    error_of(client.delete(address), 404, "not_found")
    error_of(client.get(address), 404, "not_found")
    assert client.get("/api/agents").json()["results"] == []


PATHS = [
    ("get", ""),
    ("patch", ""),
    ("delete", ""),
    ("get", "/export"),
    ("get", "/versions"),
    ("get", "/versions/1"),
    ("get", "/diff"),
    ("post", "/rollback"),
    ("post", "/validate"),
    ("post", "/fix"),
]


@pytest.mark.parametrize(("method", "path"), PATHS)
def test_anothers_agent_and_no_agent_look_the_same(
    client: APIClient, bob: User, method: str, path: str
) -> None:
    theirs = bring(client_of(bob))
    body = {"version": 1}
    answers = [
        getattr(client, method)(f"/api/agents/{key}{path}", body if method != "get" else None, format="json")
        for key in (theirs["id"], uuid.uuid4())
    ]
    assert [answer.status_code for answer in answers] == [404, 404]
    assert answers[0].content == answers[1].content
    assert client_of(bob).get(f"/api/agents/{theirs['id']}").status_code == 200


def test_nobody_comes_in_without_an_account(db: Any) -> None:
    for path in ("/api/agents", f"/api/agents/{uuid.uuid4()}", "/api/store"):
        assert APIClient().get(path).status_code in (401, 403)
    assert APIClient().post("/api/agents", adder(), format="json").status_code in (401, 403)


def test_an_owner_cannot_be_smuggled_in(client: APIClient, ada: User, bob: User) -> None:
    made = bring(client, adder(user=bob.pk, user_id=str(bob.pk), owner="bob"))
    assert client_of(bob).get(f"/api/agents/{made['id']}").status_code == 404


# --- the store ----------------------------------------------------------------------------------


def test_an_agent_is_published_found_taken_and_withdrawn(client: APIClient, bob: User) -> None:
    made = bring(client, newsroom())
    body = {"agent_id": made["id"], "description": "Writes articles.", "categories": ["media"]}
    listing = client.post("/api/store", body, format="json")
    assert listing.status_code == 201
    other = client_of(bob)
    for path in ("/api/store", "/api/store?search=newsrom"):
        found = other.get(path).json()["results"]
        assert [(one["username"], one["slug"], one["name"]) for one in found] == [
            ("ada", "newsroom", "Newsroom")
        ]
        assert found[0]["input_schema"]["required"] == ["Topic"]
        assert list(found[0]["output_schema"]["properties"]) == ["Article"]
    first, again = (other.post("/api/store/ada/newsroom/add") for _ in range(2))
    assert (first.status_code, again.status_code) == (201, 200)
    assert first.json() == again.json()
    assert (first.json()["store"], first.json()["valid"]) == ("ada/newsroom", True)
    error_of(other.delete("/api/store/ada/newsroom"), 404, "not_found")
    assert client.delete("/api/store/ada/newsroom").status_code == 204
    error_of(other.get("/api/store/ada/newsroom"), 404, "not_found")
    error_of(other.post("/api/store/ada/newsroom/add"), 404, "not_found")


def test_what_cannot_be_published_is_refused(client: APIClient, bob: User) -> None:
    broken = bring(client, old_discord_template())
    error_of(client.post("/api/store", {"agent_id": broken["id"]}, format="json"), 409, "not_publishable")
    theirs = bring(client_of(bob))
    error_of(client.post("/api/store", {"agent_id": theirs["id"]}, format="json"), 404, "not_found")
    error_of(client.post("/api/store", {}, format="json"), 400, "invalid")
    many = {"agent_id": broken["id"], "categories": ["x"] * 11}
    error_of(client.post("/api/store", many, format="json"), 400, "invalid")


def pages_of(client: APIClient, path: str) -> list[list[JSON]]:
    """Every page of a list, to its end."""
    found, cursor = [], ""
    while True:
        page = client.get(f"{path}&limit=10&cursor={cursor}").json()
        found.append(page["results"])
        if not (cursor := page["next"]):
            return found


def test_everything_a_search_finds_can_be_paged_through(client: APIClient, ada: User) -> None:
    """The best first, over all pages, in the library and in the store."""
    for number in range(23):
        made = import_agent(ada, adder(name=f"Weather of {number}", description="Tells it."))
        store.publish(made.agent)
    best = store.publish(import_agent(ada, adder(name="Weather")).agent)
    for path in ("/api/agents?search=weather", "/api/store?search=weather"):
        pages = pages_of(client, path)
        assert [len(page) for page in pages] == [10, 10, 4]
        assert pages[0][0]["name"] == best.name
        assert len({one["name"] for page in pages for one in page}) == 24
        assert len(client.get(path).json()["results"]) == 24, "a page is as long as that of any other list"
        error_of(client.get(f"{path}&cursor=nonsense"), 400, "invalid")


def test_a_search_term_that_is_too_long_is_refused_in_the_store(client: APIClient) -> None:
    term = "x" * (limits.MAX_QUERY_CHARACTERS + 1)
    assert "100" in error_of(client.get(f"/api/store?search={term}"), 400, "query_too_long")["message"]
