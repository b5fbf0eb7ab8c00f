"""Logins, cookies, tickets and websockets."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

import httpx

from attack.case import Section, attack, expect, expect_status, proven_by
from attack.site import ATTACKER, PASSWORD, THIRD, Site, close_code, frames_of

AUTH = Section.AUTH
COOKIE = "sessionid"
WRONG_LOGINS = 20


def cookie_of(site: Site) -> dict[str, str]:
    cookies = site.logged_in().cookies
    return {"Cookie": "; ".join(f"{name}={value}" for name, value in cookies.items())}


@attack(1, AUTH, "A websocket with a login cookie and no Origin", "403")
def no_origin(site: Site) -> None:
    expect_status(site.refusal(**cookie_of(site)), 403)


@attack(2, AUTH, "A websocket with a login cookie from a page of another site", "403")
def foreign_origin(site: Site) -> None:
    expect_status(site.refusal(**cookie_of(site), Origin="https://evil.example"), 403)


@attack(3, AUTH, "A websocket with a login cookie and `Origin: null`", "403")
def null_origin(site: Site) -> None:
    expect_status(site.refusal(**cookie_of(site), Origin="null"), 403)


@attack(4, AUTH, "A websocket from hosts whose names contain an allowed one", "403 each")
def lookalike_origin(site: Site) -> None:
    cookie, host = cookie_of(site), urlsplit(site.url).hostname
    for name in ("localhost.evil.example", f"{host}.evil.example", "evil-localhost", f"{host}@evil.example"):
        expect_status(site.refusal(**cookie, Origin=f"http://{name}"), 403, what=f"the answer to {name}")


@attack(5, AUTH, "A websocket without a login", "closed with 4401 before any frame", anywhere=True)
def no_login(site: Site) -> None:
    for path in ("/ws/chat/", "/ws/events/"):
        expect_status(site.refusal(path, Origin=site.url), 4401, 401, 403, what=path)


@attack(
    6, AUTH, "API keys and used tickets in a websocket's address", "4401; a ticket opens once", anywhere=True
)
def ticket_again(site: Site) -> None:
    key = site.keys[ATTACKER]
    for query in (f"token={key}", f"ticket={key}", f"key={key}", "ticket=AAAA", "ticket=%00"):
        expect_status(
            site.refusal(f"/ws/chat/?{query}", Origin=site.url), 4401, 401, what=query.partition("=")[0]
        )
    ticket = site.attacker.post("/api/ws-ticket").json()["ticket"]
    with site.dial(f"/ws/chat/?ticket={ticket}") as line:
        line.send(json.dumps({"type": "resume", "requestId": "r", "id": "new"}))
        expect(frames_of(line, "r"), "a fresh ticket opened nothing")
    expect_status(site.refusal(f"/ws/chat/?ticket={ticket}"), 4401, what="the second use")


@attack(7, AUTH, "One ticket on eight websockets at the same time", "exactly one is let in", anywhere=True)
def ticket_race(site: Site) -> None:
    ticket = site.attacker.post("/api/ws-ticket").json()["ticket"]
    with ThreadPoolExecutor(8) as crowd:
        codes = list(crowd.map(lambda _: site.refusal(f"/ws/events/?ticket={ticket}"), range(8)))
    expect(codes.count(0) == 1 and codes.count(4401) == 7, f"the sockets got {sorted(codes)}")


@attack(8, AUTH, "A session key planted before the login", "another key after the login")
def fixation(site: Site) -> None:
    browser = site.browser()
    planted = "a" * 32
    browser.cookies.set(COOKIE, planted, domain="127.0.0.1")
    site.needs_own()
    site.log_in(browser, ATTACKER, PASSWORD)
    keys = [cookie.value for cookie in browser.cookies.jar if cookie.name == COOKIE]
    expect(planted not in keys[-1:], "the planted key is logged in")
    expect_status(httpx.get(f"{site.url}/api/me", cookies={COOKIE: planted}).status_code, 401, 403)


@attack(9, AUTH, "An open websocket of a person who is deactivated", "the next frame closes it with 4401")
def deactivated_socket(site: Site) -> None:
    stack = site.needs_own()
    with site.dial(Authorization=f"Bearer {site.keys[THIRD]}") as line:
        line.send(json.dumps({"type": "resume", "requestId": "r", "id": "new"}))
        frames_of(line, "r")
        stack.sql("UPDATE accounts_user SET is_active = ? WHERE username = ?", False, THIRD)
        try:
            line.send(json.dumps({"type": "resume", "requestId": "s", "id": "new"}))
            expect_status(close_code(line, seconds=65), 4401)
        finally:
            stack.sql("UPDATE accounts_user SET is_active = ? WHERE username = ?", True, THIRD)


@attack(10, AUTH, "The API key of a deactivated person", "401")
def deactivated_key(site: Site) -> None:
    stack = site.needs_own()
    stack.sql("UPDATE accounts_user SET is_active = ? WHERE username = ?", False, THIRD)
    try:
        expect_status(site.client(THIRD).http.get("/api/me").status_code, 401)
    finally:
        stack.sql("UPDATE accounts_user SET is_active = ? WHERE username = ?", True, THIRD)


@attack(11, AUTH, "A change by login cookie without a CSRF token", "403; with a key and no cookie it works")
def csrf(site: Site) -> None:
    browser = site.logged_in()
    expect_status(browser.post("/api/sessions", json={}).status_code, 403)
    forged = browser.post("/api/sessions", json={}, headers={"X-CSRFToken": "a" * 32, "Origin": site.url})
    expect_status(forged.status_code, 403, what="the answer to a made-up token")
    expect_status(site.attacker.post("/api/sessions", json={}).status_code, 201, what="the answer to a key")


@attack(
    12,
    AUTH,
    "More than 20 wrong logins, for known and unknown names",
    "429, and the same words for both",
    slow=True,
)
def password_guesses(site: Site) -> None:
    site.needs_own()
    browser = site.browser(source="127.0.0.12")
    known, unknown = (
        message_of(site.log_in(browser, name, "wrong").text, name) for name in (ATTACKER, "nobody-here")
    )
    expect(known == unknown, "known and unknown names are answered differently")
    codes = [site.log_in(browser, f"guess{number}", "wrong").status_code for number in range(WRONG_LOGINS)]
    expect(codes[-1] == 429, f"the last guess was answered {codes[-1]}")
    expect_status(
        site.log_in(browser, ATTACKER, PASSWORD).status_code, 429, what="the right password after it"
    )


def message_of(page: str, name: str) -> str:
    """Return the text of a page without what differs in every response."""
    form = page.replace(name, "NAME")
    head, _, rest = form.partition("csrfmiddlewaretoken")
    return head[-2000:] + rest.partition(">")[2]


@attack(13, AUTH, "A forged X-Forwarded-For with every wrong login", "429 all the same", slow=True)
def forwarded_for(site: Site) -> None:
    site.needs_own()
    browser = site.browser(source="127.0.0.13")
    for number in range(WRONG_LOGINS + 1):
        forged = {"X-Forwarded-For": f"203.0.113.{number}"}
        last = site.log_in(browser, f"other{number}", "wrong", **forged).status_code
    expect_status(last, 429)


@attack(14, AUTH, "`Host: evil.example` on pages and API", "400", anywhere=True)
def foreign_host(site: Site) -> None:
    for path in ("/login/", "/api/me", "/", "/healthz"):
        found = site.attacker.get(path, headers={"Host": "evil.example"})
        expect_status(found.status_code, 400, what=path)
        expect("evil.example" not in found.text, f"{path} repeats the host")


proven_by(
    15,
    AUTH,
    "Cookies in production",
    "Secure, HttpOnly, SameSite and the __Host- prefix",
    "accounts/test_production_cookies.py::test_cookies_carry_the_host_prefix_and_every_flag",
)


@attack(114, AUTH, "An empty `?ticket=` with a visitor's cookie from another site's page", "403 or 4401")
def empty_ticket(site: Site) -> None:
    site.needs_own()
    visitor = site.browser(site.strict_url)
    visitor.get("/")
    visitor.get("/api/sessions")
    cookie = "; ".join(f"{name}={value}" for name, value in visitor.cookies.items())
    for query in ("?ticket=", "?ticket=&ticket=x", ""):
        code = site.refusal(
            f"/ws/chat/{query}", site.strict_url, Cookie=cookie, Origin="https://evil.example"
        )
        expect(code in (403, 4401, 401), f"{query or 'no ticket'} was answered {code}")
    code = site.refusal("/ws/chat/", site.strict_url, Cookie=cookie, Authorization="Bearer ")
    expect_status(code, 403, 4401, 401, what="an empty key")


@attack(
    122,
    AUTH,
    "`X-Forwarded-Proto: https` from a peer that is no trusted proxy",
    "not believed",
    tests=[
        "accounts/test_client_address.py::test_only_a_trusted_proxy_is_believed_that_a_request_came_by_https"
    ],
)
def forwarded_proto(site: Site) -> None:
    made = site.attacker.post(
        "/api/triggers",
        json={"name": "x", "agent_id": site.own.agent},
        headers={"X-Forwarded-Proto": "https", "X-Forwarded-Host": "evil.example"},
    )
    url = made.json().get("url", "")
    expect(
        "evil.example" not in url and not url.startswith("https://127"), f"an address was made of it: {url}"
    )


@attack(
    126,
    AUTH,
    "A websocket that resumes sessions which are not there",
    "no-active, never an internal error",
    anywhere=True,
)
def resume_unknown(site: Site) -> None:
    with site.dial(**site.bearer) as line:
        for number, name in enumerate(
            ("new", "0" * 36, "../../x", "\u0001", "x" * 500, "01a1e6c6-9ccc-7c6f-9edf-643fb5608087")
        ):
            line.send(json.dumps({"type": "resume", "requestId": f"r{number}", "id": name}))
            last = frames_of(line, f"r{number}")[-1]
            expect(last["type"] in ("no-active", "error"), f"{name[:40]!r} was answered {last}")
            expect("internal" not in json.dumps(last), f"{name[:40]!r} was answered {last}")
