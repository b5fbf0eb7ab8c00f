"""Incoming webhook calls that start agents, and their signatures."""

from __future__ import annotations

import json
import uuid
from typing import Any

import httpx

from attack.belongings import post
from attack.case import Section, attack, expect, expect_status
from attack.signatures import github_headers, standard_headers
from attack.site import ATTACKER, Site
from tests.harness import eventually

WEBHOOKS = Section.WEBHOOKS
BODY = b'{"name": "Ada"}'


def trigger(site: Site, scheme: str = "standard_webhooks") -> dict[str, Any]:
    body = {"name": f"attack {uuid.uuid4().hex[:6]}", "agent_id": site.own.agent, "scheme": scheme}
    return post(site.client(ATTACKER), "/api/triggers", body)


def call(made: dict[str, Any], headers: dict[str, str], body: bytes = BODY) -> int:
    return httpx.post(made["url"], content=body, headers=headers, timeout=30).status_code


@attack(
    70,
    WEBHOOKS,
    "A call without, with a wrong and with a cut signature",
    "401",
    anywhere=True,
    tests=["tools/operations/test_completion_api.py::test_a_wrong_or_cut_signature_is_refused"],
)
def bad_signature(site: Site) -> None:
    made = trigger(site)
    good = standard_headers(made["secret"], BODY)
    for change in (
        {"webhook-signature": ""},
        {"webhook-signature": "v1,AAAA"},
        {"webhook-signature": good["webhook-signature"][:-6]},
        {"webhook-signature": "v2" + good["webhook-signature"][2:]},
        {"webhook-timestamp": "soon"},
    ):
        expect_status(call(made, good | change), 401, what=str(change)[:60])
    expect_status(call(made, {"Content-Type": "application/json"}), 401, what="no signature")
    expect_status(call(made, good), 202, what="the right signature")


@attack(71, WEBHOOKS, "A right signature over a body changed by one byte", "401", anywhere=True)
def changed_body(site: Site) -> None:
    made = trigger(site)
    headers = standard_headers(made["secret"], BODY)
    for body in (BODY + b" ", BODY.replace(b"A", b"a"), b""):
        expect_status(call(made, headers, body), 401)


@attack(72, WEBHOOKS, "A timestamp of 301 s ago and 301 s ahead", "401", anywhere=True)
def old_timestamp(site: Site) -> None:
    made = trigger(site)
    for age in (302, -320):
        expect_status(call(made, standard_headers(made["secret"], BODY, age_seconds=age)), 401)


@attack(73, WEBHOOKS, "The same call again", "200 and no second effect", anywhere=True)
def replay(site: Site) -> None:
    made = trigger(site)
    headers = standard_headers(made["secret"], BODY)
    codes = [call(made, headers) for _ in range(3)]
    expect(codes == [202, 200, 200], f"the calls were answered {codes}")
    deliveries = site.attacker.get(f"/api/triggers/{made['id']}/deliveries").json()["results"]
    expect(len({one["execution_id"] for one in deliveries}) == 1, "it was run more than once")


@attack(
    74, WEBHOOKS, "An old secret during and after its grace", "counts during it, 401 after it", anywhere=True
)
def old_secret(site: Site) -> None:
    made = trigger(site)
    rotate = f"/api/triggers/{made['id']}/rotate"
    site.attacker.post(rotate, json={"what": "secret", "grace_seconds": 60}).raise_for_status()
    expect_status(call(made, standard_headers(made["secret"], BODY)), 202, what="the old secret in its grace")
    site.attacker.post(rotate, json={"what": "secret", "grace_seconds": 0}).raise_for_status()
    expect_status(call(made, standard_headers(made["secret"], BODY)), 401, what="the old secret after it")


@attack(
    75,
    WEBHOOKS,
    "The signature of one trigger on another",
    "401",
    anywhere=True,
    tests=[
        "tools/operations/test_completion_api.py::test_the_signature_of_one_operation_is_worth_nothing_for_another"
    ],
)
def crossed_signature(site: Site) -> None:
    first, second = trigger(site), trigger(site)
    expect_status(call(second, standard_headers(first["secret"], BODY)), 401)


@attack(76, WEBHOOKS, "A body of 5 MB", "413 before its signature is looked at", anywhere=True)
def large_body(site: Site) -> None:
    made = trigger(site)
    expect_status(call(made, {"Content-Type": "application/json"}, b"x" * 5_000_000), 413)


@attack("76b", WEBHOOKS, "An address cut, guessed or of a switched-off trigger", "404", anywhere=True)
def guessed_address(site: Site) -> None:
    made = trigger(site, "none")
    site.attacker.patch(f"/api/triggers/{made['id']}", json={"enabled": False}).raise_for_status()
    for url in (
        made["url"],
        made["url"][:-1],
        made["url"] + "x",
        f"{site.url}/api/hooks/x",
        f"{site.url}/api/hooks/%00",
    ):
        expect(httpx.post(url, content=BODY).status_code in (404, 400), f"{url[-20:]} was answered")


@attack(
    "76c",
    WEBHOOKS,
    "A webhook that redirects into the own network; its signature",
    "not followed; signed as Standard Webhooks",
    tests=[
        "webhooks/test_sender.py::test_a_redirect_is_not_followed",
        "webhooks/test_sender.py::test_a_receiver_that_knows_only_the_specification_can_verify_it",
        "webhooks/test_sender.py::test_an_address_inside_is_refused_before_a_packet_and_not_tried_again",
    ],
)
def outgoing(site: Site) -> None:
    url = site.outside.url("/redirect?to=/webhook-was-followed")
    made = post(site.client(ATTACKER), "/api/webhooks", {"url": url, "events": ["turn.finished"]})
    post(site.client(ATTACKER), f"/api/webhooks/{made['id']}/test", {})

    def sent() -> bool:
        found = site.attacker.get(f"/api/webhooks/{made['id']}/deliveries").json()["results"]
        return any(one.get("response_status") or one.get("error") or one.get("attempts") for one in found)

    eventually(sent, seconds=30, what="the webhook")
    followed = [visit for visit in site.outside.visits if visit.path == "/webhook-was-followed"]
    expect(not followed, "the redirect was followed")


@attack(
    121, WEBHOOKS, "A call signed by HMAC again under another delivery id", "no second effect", anywhere=True
)
def hmac_replay(site: Site) -> None:
    made = trigger(site, "hmac_sha256")
    for delivery in ("one", "two", "three"):
        call(made, github_headers(made["secret"], BODY, delivery=delivery))
    deliveries = site.attacker.get(f"/api/triggers/{made['id']}/deliveries").json()["results"]
    runs = {one["execution_id"] for one in deliveries if one["execution_id"]}
    expect(
        len(runs) == 1, f"it was run {len(runs)} times: {json.dumps([one['state'] for one in deliveries])}"
    )
