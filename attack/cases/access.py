"""Objects of another user: each answers as an unknown one does."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable
from typing import Any

import httpx

from attack.belongings import CONTENT, post
from attack.case import Section, attack, expect, expect_status, proven_by
from attack.site import VICTIM, Site, frames_of
from tests.webhooks.push_service import PushedBrowser

ACCESS = Section.ACCESS
Request = tuple[str, str, Any]  # method, path with {} for the id, body


def expect_unknown(site: Site, theirs: str, requests: Iterable[Request]) -> None:
    """Expect the same 404 for the id of another user's object and for an unknown id."""
    for method, path, body in requests:
        answers = [
            ask(site.attacker, method, path.format(name), body) for name in (theirs, str(uuid.uuid4()))
        ]
        expect_status(answers[0].status_code, 404, what=f"{method} {path}")
        expect(answers[0].text == answers[1].text, f"{method} {path} tells another's id from an unknown one")


def ask(client: httpx.Client, method: str, path: str, body: Any) -> httpx.Response:
    return client.request(method, path, **({"json": body} if body is not None else {}))


@attack(
    16,
    ACCESS,
    "Read, change and delete another's session",
    "404, the same body as for an unknown id",
    anywhere=True,
)
def sessions(site: Site) -> None:
    path = "/api/sessions/{}"
    wanted: list[Request] = [
        ("GET", path, None),
        ("PATCH", path, {"title": "mine"}),
        ("GET", path + "/export", None),
        ("PATCH", path + "/assign-user", {}),
        ("DELETE", path, None),
    ]
    expect_unknown(site, site.belongings.session, wanted)
    expect_status(
        site.victim.get(path.format(site.belongings.session)).status_code, 200, what="the owner's answer"
    )


@attack(17, ACCESS, "Write into another's session", "404, and nothing is written", anywhere=True)
def messages(site: Site) -> None:
    theirs = site.belongings.session
    before = len(site.victim.get(f"/api/sessions/{theirs}").json()["messages"])
    expect_unknown(site, theirs, [("POST", "/api/sessions/{}/turns", {"message": "hello"})])
    for path in (f"/api/sessions/{theirs}/stream", "/api/chat"):
        answer = site.attacker.post(path, json={"id": theirs, "message": "hello"})
        expect_status(answer.status_code, 404, what=path)
    expect(
        len(site.victim.get(f"/api/sessions/{theirs}").json()["messages"]) == before, "a message was written"
    )


@attack(18, ACCESS, "Read another's turn and its stream", "404", anywhere=True)
def turns(site: Site) -> None:
    path = "/api/turns/{}"
    expect_unknown(site, site.belongings.turn, [("GET", path, None), ("GET", path + "/stream", None)])
    for path in ("/api/chat/{}/stream", "/api/sessions/{}/stream"):
        answer = site.attacker.get(path.format(site.belongings.session))
        expect(
            (answer.status_code in (204, 404) and not answer.content.strip(b"{}"))
            or answer.status_code == 404,
            f"{path} answered {answer.status_code}",
        )


@attack(19, ACCESS, "Resume another's session on a websocket", "the answer for an unknown one", anywhere=True)
def subscribe(site: Site) -> None:
    with site.dial(**site.bearer) as line:
        found = []
        for number, name in enumerate((site.belongings.session, str(uuid.uuid4()))):
            line.send(json.dumps({"type": "resume", "requestId": f"r{number}", "id": name}))
            found.append([{**frame, "requestId": ""} for frame in frames_of(line, f"r{number}")])
    expect(found[0] == found[1], f"the answers differ: {found}")


@attack(20, ACCESS, "Cancel, edit and delete another's turn", "404", anywhere=True)
def cancel(site: Site) -> None:
    path = "/api/turns/{}"
    wanted: list[Request] = [
        ("POST", path + "/cancel", {}),
        ("POST", path + "/tools/c0/cancel", {}),
        ("PATCH", path, {"message": "x"}),
        ("DELETE", path, None),
    ]
    expect_unknown(site, site.belongings.turn, wanted)
    expect_unknown(site, site.belongings.session, [("POST", "/api/sessions/{}/cancel", {})])


@attack(
    21,
    ACCESS,
    "Another's file by id, as an attachment, in a reference and in a tool's argument",
    "not found",
    tests=["workspace/test_references.py::test_case_21_anothers_file_resolves_to_nothing"],
)
def files(site: Site) -> None:
    theirs = site.belongings.file
    path = "/api/files/{}"
    wanted: list[Request] = [
        ("GET", path, None),
        ("GET", path + "/content", None),
        ("PATCH", path, {"path": "x"}),
        ("DELETE", path, None),
    ]
    expect_unknown(site, theirs, wanted)
    session = site.client("ann").new_session()
    body = {"message": "look", "attachments": [theirs]}
    answer = site.attacker.post(f"/api/sessions/{session}/turns", json=body)
    expect(answer.status_code in (400, 404), f"attaching it was answered {answer.status_code}")
    found = site.call_tools(
        ("read_workspace_file", {"file_id": theirs}),
        ("read_workspace_file", {"file_id": f"workspace://{theirs}"}),
        ("bash_exec", {"command": f"cat workspace://{theirs}; find / -name private.txt 2>/dev/null"}),
        ("delete_workspace_file", {"file_id": theirs}),
        (
            "run_block",
            {"block_id": site.blocks["File Read"], "input_data": {"file_input": f"workspace://{theirs}"}},
        ),
    )
    expect(CONTENT.decode() not in json.dumps(found), "a tool gave its content")
    content = site.victim.get(path.format(theirs) + "/content").content
    expect(content == CONTENT, "the file was changed or deleted")


@attack(22, ACCESS, "Another's agents and executions, by API and by tools", "not found")
def agents(site: Site) -> None:
    theirs = site.belongings
    path = "/api/agents/{}"
    wanted: list[Request] = [
        ("GET", path, None),
        ("GET", path + "/export", None),
        ("GET", path + "/versions", None),
        ("GET", path + "/versions/1", None),
        ("GET", path + "/diff", None),
        ("POST", path + "/validate", {}),
        ("POST", path + "/fix", {}),
        ("POST", path + "/execute", {"inputs": {}}),
        ("PATCH", path, {"name": "x"}),
        ("POST", path + "/rollback", {"version": 1}),
        ("DELETE", path, None),
    ]
    expect_unknown(site, theirs.agent, wanted)
    path = "/api/executions/{}"
    wanted = [("GET", path, None), ("GET", path + "/nodes", None), ("POST", path + "/cancel", {})]
    expect_unknown(site, theirs.execution, wanted)
    found = site.call_in_turn(
        ("get_agent_building_guide", {}),
        ("view_agent_output", {"library_agent_id": theirs.agent}),
        ("view_agent_output", {"execution_id": theirs.execution}),
        ("run_agent", {"library_agent_id": theirs.agent, "use_defaults": True}),
        ("edit_agent", {"agent_id": theirs.agent, "changes": "rename it to Mine"}),
        ("find_library_agent", {"agent_id": theirs.agent, "query": "Private agent"}),
    )
    told = json.dumps(
        [one for one in found[1:] if one.get("type") not in ("error", "no_results", "operation_started")]
    )
    expect("Private agent" not in told and "Ada" not in told, f"a tool told of it: {told[:300]}")
    expect(site.victim.get(f"/api/agents/{theirs.agent}").json()["name"] == "Private agent", "it was renamed")


@attack(23, ACCESS, "Another's sub-session through get_sub_session_result", "an error, not its text")
def sub_sessions(site: Site) -> None:
    theirs = site.belongings.sub_session
    expect(theirs, "no sub-session was started")
    for wish in ({}, {"cancel": True}, {"include_progress": True}):
        call = {"sub_session_id": theirs, "wait_if_running": 0, **wish}
        [found] = site.call_tools(("get_sub_session_result", call))
        expect(found["type"] == "error", f"it answered {json.dumps(found)[:300]}")


@attack(
    24,
    ACCESS,
    "Read, cancel and complete another's operation",
    "404; 401 for a completion without its secret",
)
def operations(site: Site) -> None:
    theirs = site.belongings.operation
    expect(theirs, "no operation was started")
    path = "/api/operations/{}"
    expect_unknown(site, theirs, [("GET", path, None), ("POST", path + "/cancel", {})])
    body = {"success": True, "result": {"forged": True}}
    for headers in (
        {},
        {"X-API-Key": "guess"},
        {"webhook-id": "m", "webhook-timestamp": "1", "webhook-signature": "v1,x"},
    ):
        answer = site.attacker.post(path.format(theirs) + "/complete", json=body, headers=headers)
        expect_status(answer.status_code, 401, 404, what="a completion")
    expect("forged" not in site.victim.get(path.format(theirs)).text, "the operation was completed")


@attack(
    25,
    ACCESS,
    "Ids of other people's objects and users smuggled into bodies",
    "ignored or 4xx",
    anywhere=True,
)
def smuggled_keys(site: Site) -> None:
    theirs, mine = site.belongings, site.own
    smuggled = {
        "user": 2,
        "user_id": 2,
        "owner": 2,
        "session": theirs.session,
        "id": theirs.session,
        "parent": theirs.session,
    }
    made = site.attacker.post("/api/sessions", json={"title": "smuggled", **smuggled})
    if made.is_success:
        expect(made.json()["id"] != theirs.session, "the session got another's id")
        expect(made.json().get("parent") in (None, ""), "the session got another's parent")
    for path, body in {
        "/api/schedules": {"name": "x", "agent_id": theirs.agent, "cron": "0 0 1 1 *"},
        "/api/triggers": {"name": "x", "agent_id": theirs.agent},
        "/api/store": {"agent_id": theirs.agent, "slug": "stolen", "name": "x", "description": "x"},
    }.items():
        expect_status(site.attacker.post(path, json=body).status_code, 400, 404, what=path)
    changed = site.attacker.patch(f"/api/schedules/{mine.schedule}", json={"agent_id": theirs.agent})
    shown = site.attacker.get(f"/api/schedules/{mine.schedule}").json()
    expect(shown["agent_id"] == mine.agent, f"a schedule moved to another's agent ({changed.status_code})")
    titles = [one["title"] for one in site.victim.get("/api/sessions").json()["results"]]
    expect("smuggled" not in titles, "the victim has the session now")


@attack(
    26,
    ACCESS,
    "Guess ids; list everything",
    "ids are random UUIDs; lists hold only what is one's own",
    anywhere=True,
)
def enumeration(site: Site) -> None:
    theirs = site.belongings
    for name in (theirs.session, theirs.turn, theirs.file, theirs.agent, theirs.execution, theirs.key):
        expect(uuid.UUID(name).version in (4, 7), f"{name} can be guessed")
    lists = {
        "sessions": theirs.session,
        "agents": theirs.agent,
        "executions": theirs.execution,
        "files": theirs.file,
        "schedules": theirs.schedule,
        "triggers": theirs.trigger,
        "webhooks": theirs.webhook,
        "keys": theirs.key,
        "credentials": theirs.credential,
        "reviews": theirs.review,
    }
    for path, name in lists.items():
        expect(
            name not in site.attacker.get(f"/api/{path}?page_size=100").text, f"/api/{path} lists another's"
        )
        expect(name in site.victim.get(f"/api/{path}?page_size=100").text, f"/api/{path} lists nothing")


@attack(
    "26b",
    ACCESS,
    "Another's schedules, triggers, webhooks, credentials, keys and reviews",
    "404 each",
    anywhere=True,
)
def everything_else(site: Site) -> None:
    theirs = site.belongings
    for path, name in {
        "schedules": theirs.schedule,
        "triggers": theirs.trigger,
        "webhooks": theirs.webhook,
        "credentials": theirs.credential,
    }.items():
        one = f"/api/{path}/{{}}"
        expect_unknown(
            site,
            name,
            [("GET", one, None), ("PATCH", one, {"name": "x", "title": "x"}), ("DELETE", one, None)],
        )
    expect_unknown(site, theirs.key, [("DELETE", "/api/keys/{}", None)])
    expect_unknown(
        site,
        theirs.review,
        [("GET", "/api/reviews/{}", None), ("POST", "/api/reviews/{}/decide", {"approved": True})],
    )
    expect_unknown(site, theirs.schedule, [("POST", "/api/schedules/{}/run", {})])
    expect_unknown(
        site,
        theirs.trigger,
        [
            ("POST", "/api/triggers/{}/rotate", {"what": "address"}),
            ("GET", "/api/triggers/{}/deliveries", None),
        ],
    )
    expect_unknown(
        site,
        theirs.webhook,
        [
            ("POST", "/api/webhooks/{}/rotate", {}),
            ("POST", "/api/webhooks/{}/test", {}),
            ("GET", "/api/webhooks/{}/deliveries", None),
        ],
    )
    mine = site.own
    crossed = f"/api/triggers/{mine.trigger}/deliveries/{theirs.trigger_delivery}/replay"
    expect_status(site.attacker.post(crossed).status_code, 404, what="a delivery under another trigger")
    crossed = f"/api/webhooks/{mine.webhook}/deliveries/{theirs.webhook_delivery}/replay"
    expect_status(site.attacker.post(crossed).status_code, 404, what="a delivery under another webhook")


@attack("26c", ACCESS, "Show, fork and mark as read in another's conversation", "404 each", anywhere=True)
def branches_and_forks(site: Site) -> None:
    theirs = site.belongings
    expect_unknown(site, theirs.turn, [("POST", "/api/turns/{}/show", None)])
    fork = ("POST", "/api/sessions/{}/fork", {"message_id": str(uuid.uuid4())})
    expect_unknown(site, theirs.session, [fork, ("POST", "/api/sessions/{}/read", None)])
    own = site.own.session
    taken = site.attacker.get(f"/api/sessions/{own}").json()["messages"][-1]["id"]
    stolen = {"message_id": taken, "id": theirs.session}
    expect_status(site.attacker.post(f"/api/sessions/{own}/fork", json=stolen).status_code, 404)


@attack(
    "26d", ACCESS, "Another's device for push messages: see it, remove it", "not listed; 404", anywhere=True
)
def push_devices(site: Site) -> None:
    given = {"endpoint": "https://push.example.org/victim", "keys": PushedBrowser("victim").keys()}
    kept = post(site.client(VICTIM), "/api/push/subscriptions", given)
    expect_unknown(site, kept["id"], [("DELETE", "/api/push/subscriptions/{}", None)])
    seen = site.attacker.get("/api/push").text
    expect(kept["id"] not in seen and "victim" not in seen, "another's device is listed")


proven_by(
    27,
    ACCESS,
    "Names of channel groups built from input (`../`, Unicode, 200 characters)",
    "a group is named by a digest of the row's id alone",
    "chat/delivery/test_consumer.py::test_groups_are_named_by_a_digest_never_by_input",
    "durable/test_client_push.py::test_a_group_name_tells_nothing_and_is_one_channels_accepts",
)
proven_by(
    28,
    ACCESS,
    "Staff without the permission in the admin; secrets in the admin",
    "403; secrets are never shown",
    "accounts/test_admin.py::test_staff_without_the_permission_get_403",
    "accounts/test_admin.py::test_keys_show_neither_secret_nor_hash_and_can_be_revoked",
    "webhooks/test_admin.py::test_an_endpoint_is_shown_without_its_secret",
    "executions/credentials/test_rotation.py::test_operators_see_credentials_and_change_none",
)
