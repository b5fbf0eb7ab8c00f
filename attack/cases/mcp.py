"""The MCP server at /mcp and the sign-in of programs."""

from __future__ import annotations

from typing import Any

import httpx

from attack.case import Section, attack, expect, expect_status, proven_by
from attack.site import ATTACKER, Site

AUTH, ACCESS, LIMITS = Section.AUTH, Section.ACCESS, Section.LIMITS
VERSION = "2026-07-28"
NAMED = {"tools/call": "name", "resources/read": "uri"}
TASKS: dict[str, Any] = {"extensions": {"io.modelcontextprotocol/tasks": {}}}


def ask(site: Site, method: str, params: dict[str, Any] | None = None, **headers: str) -> httpx.Response:
    """Send one request as a good client would, except for what `headers` changes."""
    meta = {
        "io.modelcontextprotocol/protocolVersion": VERSION,
        "io.modelcontextprotocol/clientCapabilities": TASKS,
    }
    given = params or {}
    name = given.get(NAMED.get(method, "taskId"), "")
    sent = {
        "Authorization": f"Bearer {site.keys[ATTACKER]}",
        "Accept": "application/json, text/event-stream",
        "Mcp-Protocol-Version": VERSION,
        "Mcp-Method": method,
        "Mcp-Name": str(name),
    }
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": given | {"_meta": meta}}
    with httpx.Client(base_url=site.url, timeout=60) as http:
        return http.post("/mcp", json=body, headers=sent | headers)


def code_of(response: httpx.Response) -> int:
    return int(response.json().get("error", {}).get("code", 0))


@attack(140, AUTH, "/mcp without a key, with a wrong one, and with a login cookie", "401", anywhere=True)
def no_key(site: Site) -> None:
    for header in ("", "Bearer rk_wrong", "Bearer ro_wrong", "Basic YTpi"):
        expect_status(ask(site, "tools/list", Authorization=header).status_code, 401, what=repr(header))


@attack(141, AUTH, "/mcp from a page of another site, or under another name of the host", "403 or 400")
def other_site(site: Site) -> None:
    for origin in (
        "https://evil.example",
        "null",
        f"{site.url}.evil.example",
        "http://localhost.evil.example",
    ):
        expect_status(ask(site, "tools/list", Origin=origin).status_code, 403, what=origin)
    expect_status(ask(site, "tools/list", Host="evil.example").status_code, 400, 403, what="another host")


@attack(142, ACCESS, "Executions, files and tasks of somebody else at /mcp", "as if they did not exist")
def other_people(site: Site) -> None:
    theirs = site.belongings
    execution = str(theirs.execution)
    task = f"execution-{execution.replace('-', '')}"
    for method, params in (
        ("tasks/get", {"taskId": task}),
        ("tasks/cancel", {"taskId": task}),
        ("tasks/update", {"taskId": task, "inputResponses": {}}),
        ("resources/read", {"uri": f"execution://{execution}/outputs"}),
        ("resources/read", {"uri": f"workspace://{theirs.file}"}),
    ):
        expect(code_of(ask(site, method, params)) == -32602, f"{method} found {params}")
    found = ask(site, "tools/call", {"name": "get_execution", "arguments": {"execution_id": execution}})
    expect(found.json()["result"]["isError"], "get_execution showed it")


@attack(
    143, ACCESS, "Forged task ids, cursors, states and addresses at /mcp", "an error of JSON-RPC, never 500"
)
def forged(site: Site) -> None:
    odd = [
        "",
        "x" * 5000,
        "../../etc/passwd",
        "execution-",
        "turn-zz",
        "%00",
        "workspace://../x",
        "file:///etc/passwd",
    ]
    for text in odd:
        for method, name in (("tasks/get", "taskId"), ("resources/read", "uri"), ("tools/list", "cursor")):
            answer = ask(site, method, {name: text}, **{"Mcp-Name": text[:4000]})
            expect(answer.status_code < 500, f"{method} with {text[:20]!r} was {answer.status_code}")
    state = {"name": "ask_copilot", "arguments": {"message": "x"}, "requestState": "work:forged"}
    expect(code_of(ask(site, "tools/call", state)) == -32602, "a forged state was taken")


@attack(144, LIMITS, "Huge, deep and malformed messages at /mcp", "400 or 413", anywhere=True)
def malformed(site: Site) -> None:
    head = b'{"jsonrpc":"2.0","id":1,"method":"tools/list","params":'
    for body in (b"[" * 100_000, head + b'{"a":' * 5000 + b"1" + b"}" * 5001, b"\xff" * 100, b'{"id":1e999}'):
        with httpx.Client(
            base_url=site.url, headers={"Authorization": f"Bearer {site.keys[ATTACKER]}"}
        ) as http:
            expect_status(http.post("/mcp", content=body).status_code, 400, 413, what=repr(body[:20]))
    with httpx.Client(base_url=site.url, headers={"Authorization": f"Bearer {site.keys[ATTACKER]}"}) as http:
        large = head + b'{"x":"' + b"a" * (6 * 1024 * 1024) + b'"}}'
        expect_status(http.post("/mcp", content=large).status_code, 400, 413, what="six megabytes")


proven_by(
    145,
    AUTH,
    "Stolen codes and refresh tokens, other redirects, no PKCE, consent without the CSRF token",
    "refused; a second use ends the grant",
    "accounts/test_oauth.py::test_code_works_once_and_a_second_use_ends_the_grant",
    "accounts/test_oauth.py::test_refresh_token_rotates_and_a_stolen_one_ends_the_grant",
    "accounts/test_oauth.py::test_bad_request_is_shown_here_and_sent_nowhere",
    "accounts/test_oauth.py::test_consent_needs_the_csrf_token",
    "accounts/test_oauth.py::test_dangerous_redirects_are_not_registered",
)
proven_by(
    146,
    Section.SSRF,
    "A client's description at an inner address",
    "not fetched",
    "accounts/test_oauth.py::test_description_at_an_inner_address_is_not_fetched",
)
