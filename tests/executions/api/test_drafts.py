"""/api/agents/{id}/draft over HTTP: saved with a version check, published, discarded, repaired and laid out."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from rest_framework.test import APIClient

from accounts.models import User
from executions import limits
from executions.models import AgentDraft, DraftEditor
from tests.executions.agents.samples import adder, link, node
from tests.executions.api.test_agents import bring, client_of, error_of

JSON = Any


@pytest.fixture
def client(ada: User) -> APIClient:
    return client_of(ada)


def draft_of(client: APIClient, agent: str) -> dict[str, JSON]:
    answer = client.get(f"/api/agents/{agent}/draft")
    assert answer.status_code == 200, answer.content
    body: dict[str, JSON] = answer.json()
    return body


def save(client: APIClient, draft: dict[str, JSON], graph: JSON = None, **more: JSON) -> Any:
    order = {"graph": graph or draft["graph"], "revision": draft["revision"], "save_id": "one"} | more
    return client.put(f"/api/agents/{draft['agent_id']}/draft", order, format="json")


def with_operand(draft: dict[str, JSON], value: JSON) -> dict[str, JSON]:
    graph: dict[str, JSON] = copy.deepcopy(draft["graph"])
    graph["nodes"][1]["input_default"]["b"] = value
    return graph


def test_draft_of_an_agent_begins_as_its_newest_version(client: APIClient) -> None:
    made = bring(client)
    draft = draft_of(client, made["id"])
    assert (draft["revision"], draft["base_version"], draft["changed"]) == (0, 1, False)
    assert draft["graph"] == made["graph"]
    assert draft["validation"]["valid"] is True
    assert AgentDraft.objects.count() == 0, "looking makes no row"


def test_saved_draft_is_answered_with_its_problems_and_changes_no_version(client: APIClient) -> None:
    made = bring(client)
    draft = draft_of(client, made["id"])
    broken = copy.deepcopy(draft["graph"])
    broken["links"] = broken["links"][1:]
    saved = save(client, draft, broken).json()
    assert (saved["revision"], saved["changed"], saved["validation"]["valid"]) == (1, True, False)
    assert [problem["node_id"] for problem in saved["validation"]["errors"]] == ["add"]
    assert draft_of(client, made["id"])["graph"] == saved["graph"]
    assert client.get(f"/api/agents/{made['id']}").json() == made


def test_a_save_on_an_older_revision_is_refused_and_loses_nothing(client: APIClient) -> None:
    made = bring(client)
    draft = draft_of(client, made["id"])
    mine = save(client, draft, with_operand(draft, 1)).json()
    error_of(save(client, draft, with_operand(draft, 2), save_id="two"), 409, "draft_moved")
    assert draft_of(client, made["id"])["graph"] == mine["graph"]


def test_the_same_save_again_is_answered_and_not_repeated(client: APIClient) -> None:
    draft = draft_of(client, bring(client)["id"])
    first = save(client, draft, with_operand(draft, 1))
    again = save(client, draft, with_operand(draft, 1))
    assert again.status_code == 200
    assert first.json()["revision"] == again.json()["revision"] == 1


def test_secret_typed_into_a_draft_is_not_stored_and_named(client: APIClient) -> None:
    draft = draft_of(client, bring(client)["id"])
    graph = copy.deepcopy(draft["graph"])
    graph["nodes"][1]["input_default"]["api_key"] = "sk-very-secret"
    saved = save(client, draft, graph).json()
    assert [(one["node_id"], one["pin"]) for one in saved["removed"]] == [("add", "api_key")]
    assert "sk-very-secret" not in str(AgentDraft.objects.values().get())


def test_published_draft_is_the_next_version_and_exports_as_it_was_drawn(client: APIClient) -> None:
    made = bring(client)
    draft = draft_of(client, made["id"])
    saved = save(client, draft, with_operand(draft, 1)).json()
    where = f"/api/agents/{made['id']}"
    published = client.post(
        f"{where}/draft/publish", {"revision": saved["revision"], "note": "One"}, format="json"
    )
    assert published.json()["version"] == 2
    assert published.json()["graph"]["nodes"] == saved["graph"]["nodes"]
    after = draft_of(client, made["id"])
    assert (after["base_version"], after["changed"], after["revision"]) == (2, False, 2)
    assert client.get(f"{where}/versions").json()["results"][0]["note"] == "One"


def test_unchanged_draft_makes_no_version_and_the_export_stays_byte_for_byte(client: APIClient) -> None:
    made = bring(client)
    where = f"/api/agents/{made['id']}"
    before = client.get(f"{where}/export").content
    draft = draft_of(client, made["id"])
    saved = save(client, draft).json()
    published = client.post(f"{where}/draft/publish", {"revision": saved["revision"]}, format="json").json()
    assert published["version"] == 1
    assert client.get(f"{where}/export").content == before


def test_draft_of_an_overtaken_version_is_not_published_until_it_is_merged(client: APIClient) -> None:
    made = bring(client)
    where, draft = f"/api/agents/{made['id']}", draft_of(client, made["id"])
    mine = save(client, draft, with_operand(draft, 1)).json()
    theirs = {"graph": with_operand(draft, 2)}
    assert client.patch(where, theirs, format="json").json()["version"] == 2
    error_of(
        client.post(f"{where}/draft/publish", {"revision": mine["revision"]}, format="json"),
        409,
        "version_moved",
    )
    seen = draft_of(client, made["id"])
    assert (seen["base_version"], seen["latest_version"]) == (1, 2)
    merged = save(client, seen, with_operand(draft, 3), save_id="two", base_version=2).json()
    done = client.post(f"{where}/draft/publish", {"revision": merged["revision"]}, format="json")
    assert done.json()["version"] == 3


def test_draft_without_changes_follows_a_newer_version(client: APIClient) -> None:
    made = bring(client)
    draft = draft_of(client, made["id"])
    save(client, draft)
    client.patch(f"/api/agents/{made['id']}", {"graph": with_operand(draft, 2)}, format="json")
    after = draft_of(client, made["id"])
    assert (after["base_version"], after["changed"]) == (2, False)
    assert after["graph"]["nodes"][1]["input_default"]["b"] == 2


def test_discarded_draft_is_the_newest_version_and_late_saves_are_refused(client: APIClient) -> None:
    made = bring(client)
    draft = draft_of(client, made["id"])
    saved = save(client, draft, with_operand(draft, 1)).json()
    discarded = client.delete(f"/api/agents/{made['id']}/draft").json()
    assert discarded["graph"] == made["graph"]
    assert (discarded["changed"], discarded["revision"]) == (False, 2)
    error_of(save(client, saved, save_id="late"), 409, "draft_moved")


def test_publishing_another_revision_than_the_one_seen_is_refused(client: APIClient) -> None:
    made = bring(client)
    draft = draft_of(client, made["id"])
    save(client, draft, with_operand(draft, 1))
    where = f"/api/agents/{made['id']}/draft/publish"
    error_of(client.post(where, {"revision": 0}, format="json"), 409, "draft_moved")


def test_graph_is_repaired_and_laid_out_without_being_saved(client: APIClient) -> None:
    made = bring(client)
    where, graph = f"/api/agents/{made['id']}/draft", copy.deepcopy(made["graph"])
    graph["links"].append(link("gone.result", "add.b"))
    fixed = client.post(f"{where}/fix", {"graph": graph}, format="json").json()
    assert [fix["code"] for fix in fixed["fixes"]] == ["dangling_link"]
    assert fixed["validation"]["valid"] is True
    graph = fixed["graph"]
    for one in graph["nodes"]:
        one["metadata"]["position"] = {"x": 7, "y": 7}
    placed = client.post(f"{where}/arrange", {"graph": graph}, format="json").json()["graph"]
    columns = [one["metadata"]["position"]["x"] for one in placed["nodes"]]
    assert columns == sorted(set(columns)), "each node one column after its source"
    assert AgentDraft.objects.count() == 0


def test_layout_puts_a_node_after_its_furthest_source_also_in_a_cycle(client: APIClient) -> None:
    made = bring(client)
    nodes = [node(name, "Store Value") for name in "abcd"]
    links = [link("a.output", "d.input"), link("a.output", "b.input"), link("b.output", "c.input")]
    links += [link("c.output", "d.input"), link("d.output", "b.input")]
    graph = {"nodes": nodes, "links": links}
    placed = client.post(f"/api/agents/{made['id']}/draft/arrange", {"graph": graph}, format="json").json()
    at = {one["id"]: one["metadata"]["position"]["x"] for one in placed["graph"]["nodes"]}
    assert at["a"] == 0
    assert at["d"] != at["a"]
    assert len({at[name] for name in "bcd"}) == 3


def test_other_tabs_see_who_edits_until_it_leaves_or_is_silent(client: APIClient) -> None:
    where = f"/api/agents/{bring(client)['id']}/draft/editors"

    def report(tab: str, **more: JSON) -> list[str]:
        answer = client.post(where, {"client_id": tab, "device": f"on {tab}"} | more, format="json")
        return [one["device"] for one in answer.json()["editors"]]

    assert report("desk") == []
    assert report("phone") == ["on desk"]
    assert report("desk") == ["on phone"]
    report("phone", closed=True)
    assert report("desk") == []
    report("phone")
    DraftEditor.objects.filter(client_id="phone").update(seen_at="2020-01-01T00:00Z")
    assert report("desk") == []


def test_remembered_tabs_are_bounded(client: APIClient) -> None:
    where = f"/api/agents/{bring(client)['id']}/draft/editors"
    for number in range(limits.MAX_DRAFT_EDITORS + 5):
        client.post(where, {"client_id": f"tab {number}"}, format="json")
    assert DraftEditor.objects.count() == limits.MAX_DRAFT_EDITORS


def test_draft_of_somebody_else_is_not_there(client: APIClient, bob: User) -> None:
    made = bring(client)
    others = client_of(bob)
    where = f"/api/agents/{made['id']}/draft"
    draft = draft_of(client, made["id"])
    assert others.get(where).status_code == 404
    assert save(others, draft).status_code == 404
    for path in ("publish", "fix", "arrange", "editors"):
        assert others.post(f"{where}/{path}", {}, format="json").status_code == 404
    assert others.delete(where).status_code == 404


@pytest.mark.parametrize("graph", [{}, {"nodes": "none"}, {"nodes": [1]}])
def test_what_is_no_graph_is_refused(client: APIClient, graph: JSON) -> None:
    draft = draft_of(client, bring(client)["id"])
    order = {"graph": graph, "revision": 0, "save_id": "x"}
    answer = client.put(f"/api/agents/{draft['agent_id']}/draft", order, format="json")
    error_of(answer, 400, "not_a_graph")


def test_unknown_fields_of_a_graph_survive_the_builder(client: APIClient) -> None:
    document = adder(recommended_schedule="0 8 * * *")
    document["nodes"][0]["colour"] = {"kept": True}
    made = bring(client, document)
    draft = draft_of(client, made["id"])
    saved = save(client, draft, with_operand(draft, 5)).json()
    client.post(f"/api/agents/{made['id']}/draft/publish", {"revision": saved["revision"]}, format="json")
    exported = client.get(f"/api/agents/{made['id']}/export").json()
    assert exported["recommended_schedule"] == "0 8 * * *"
    assert exported["nodes"][0]["colour"] == {"kept": True}
