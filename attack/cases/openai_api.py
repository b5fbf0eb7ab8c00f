"""The OpenAI API under /v1: other people's answers, limits of a key, and requests made to break it."""

from __future__ import annotations

import json
import socket
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

import httpx

from attack.belongings import post
from attack.case import Section, attack, expect, expect_status
from attack.cases.access import Request
from attack.site import ATTACKER, SOCKET_SECONDS, STRICT_WRITES, THIRD, Site, close_code
from tests.harness import as_text

OPENAI = Section.OPENAI
CHAT, RESPONSES = "/v1/chat/completions", "/v1/responses"
SHAPE = {"message", "type", "param", "code"}
TOO_LARGE = 6 * 1024 * 1024
DEEP = 100_000
ANSWER_SECONDS = 60.0
ODD_MODELS = (
    "../copilot",
    "copilot/../../etc/passwd",
    "copilot/%2e%2e/admin",
    "agent/../../../api/keys",
    "agent/",
    "copilot/",
    "copilot\r\nX-Injected: 1",
    "copilot\\..\\x",
    "*",
    "copilot*",
    "http://169.254.169.254/",
    "x" * 10_000,
)
ODD_BODIES = {
    "nothing": b"",
    "a list": b"[]",
    "half an object": b"{",
    "no UTF-8": b'{"model": "\xff\xfe"}',
    "a NUL": b'{"model": "copilot", "input": "a\\u0000b", "messages": [{"role": "user", "content": "\\u0000"}]}',
    "half a surrogate pair": (
        b'{"model": "copilot", "input": "\\ud800", "messages": [{"role": "user", "content": "\\ud800"}]}'
    ),
    "NaN": b'{"model": "copilot", "input": "x", "messages": [], "temperature": NaN}',
    "deep brackets": b'{"model": ' + b"[" * DEEP + b"]" * DEEP + b"}",
    "a number of 10,000 digits": b'{"model": "copilot", "input": "x", "max_output_tokens": '
    + b"9" * 10_000
    + b"}",
    "an object as model": b'{"model": {"a": 1}, "input": "x", "messages": [{"role": "user", "content": "x"}]}',
}


# --- other people's objects -----------------------------------------------------------------------


@attack(
    150,
    OPENAI,
    "Another's response by its id: read, streamed, cancelled, deleted, gone on from, steered",
    "404 as for an unknown one, and it stays",
    anywhere=True,
)
def responses_of_others(site: Site) -> None:
    path = RESPONSES + "/{}"
    theirs = response_id(site)
    wanted: list[Request] = [
        ("GET", path, None),
        ("GET", path + "?stream=true", None),
        ("GET", path + "/input_items", None),
        ("POST", path + "/cancel", {}),
        ("DELETE", path, None),
    ]
    for method, place, body in wanted:
        answer = site.attacker.request(method, place.format(theirs), json=body)
        unknown = site.attacker.request(
            method, place.format(unknown_id := f"resp_{uuid.uuid4().hex}"), json=body
        )
        expect_status(answer.status_code, 404, what=f"{method} {place}")
        same = answer.text.replace(theirs, "") == unknown.text.replace(unknown_id, "")
        expect(same, f"{method} {place} tells another's id from an unknown one")
    body = {"model": "copilot", "input": "What did I say?", "previous_response_id": theirs}
    expect_error(site.attacker.post(RESPONSES, json=body), 400, "previous_response_not_found")
    expect_status(site.victim.get(path.format(theirs)).status_code, 200, what="the owner's answer")


@attack(
    151,
    OPENAI,
    "Another's conversation by its id or its name, in every field that takes one",
    "refused, or a new one of the attacker's own",
    anywhere=True,
)
def conversations_of_others(site: Site) -> None:
    theirs = site.belongings.session
    before = len(site.victim.get(f"/api/sessions/{theirs}").json()["messages"])
    hexed = uuid.UUID(theirs).hex
    for name in (theirs, f"conv_{hexed}", hexed):
        for body, headers in (
            ({"conversation": name}, {}),
            ({"conversation": {"id": name}}, {}),
            ({"metadata": {"session_id": name}}, {}),
            ({}, {"X-Session-Id": name}),
        ):
            asked = {"model": "copilot", "input": "Repeat everything.", **body}
            answer = site.attacker.post(RESPONSES, json=asked, headers=headers, timeout=ANSWER_SECONDS)
            expect(
                answer.status_code in (200, 400, 404), f"{name} in {body or headers}: {answer.status_code}"
            )
            expect("A private answer." not in answer.text, f"{name} in {body or headers} shows their answer")
    after = site.victim.get(f"/api/sessions/{theirs}").json()["messages"]
    expect(len(after) == before, "a message was written")


@attack(
    152,
    OPENAI,
    "Another's file as an attachment, another's agent as a model, another's call answered",
    "refused",
    anywhere=True,
)
def parts_of_others(site: Site) -> None:
    url = f"workspace://{site.belongings.file}"
    content = [{"type": "text", "text": "Read it."}, {"type": "image_url", "image_url": {"url": url}}]
    asked = {"model": "copilot", "messages": [{"role": "user", "content": content}]}
    expect_error(site.attacker.post(CHAT, json=asked, timeout=ANSWER_SECONDS), 404)
    names = [model["id"] for model in site.attacker.get("/v1/models").json()["data"]]
    theirs = [model["id"] for model in site.victim.get("/v1/models").json()["data"]]
    for name in {name for name in theirs if name.startswith("agent/")} - set(names):
        answer = site.attacker.post(RESPONSES, json={"model": name, "input": "x"})
        expect_error(answer, 404, "model_not_found")
    call = f"call_{uuid.UUID(site.belongings.operation).hex}"
    output = {"type": "function_call_output", "call_id": call, "output": "taken over"}
    site.attacker.post(RESPONSES, json={"model": "copilot", "input": [output]}, timeout=ANSWER_SECONDS)
    shown = site.victim.get(f"/api/operations/{site.belongings.operation}").text
    expect("taken over" not in shown, "another's call was answered")


@attack(
    153,
    OPENAI,
    "The idempotency key, client_id and retry header of another's request",
    "a turn of one's own: keys are per person",
)
def shared_keys(site: Site) -> None:
    site.needs_own()
    key = uuid.uuid4().hex
    secret = f"the answer for {uuid.uuid4().hex}"
    asked = {"model": "copilot", "input": scripted(secret), "metadata": {"client_id": key}}
    for headers in ({"Idempotency-Key": key}, {"X-Stainless-Retry-Count": "1"}, {}):
        theirs = site.victim.post(RESPONSES, json=asked, headers=headers, timeout=ANSWER_SECONDS).json()
        mine = site.attacker.post(RESPONSES, json=asked, headers=headers, timeout=ANSWER_SECONDS).json()
        expect(mine["id"] != theirs["id"], f"{headers or 'client_id'} joined another's request")


# --- limits of a key ------------------------------------------------------------------------------


@attack(
    154,
    OPENAI,
    "A key with limits used elsewhere, on other models and tools, and to change itself",
    "refused everywhere but for what it was given",
)
def limited_key(site: Site) -> None:
    site.needs_own()
    with key_with(site, allowed_models=["agent/*"], allowed_tools=[]) as limited:
        for method, path in (
            ("GET", "/api/sessions"),
            ("GET", "/api/keys"),
            ("POST", "/api/keys"),
            ("GET", "/api/files"),
            ("GET", f"/api/sessions/{site.own.session}"),
        ):
            answer = limited.request(method, path, json={"name": "free"} if method == "POST" else None)
            expect(answer.status_code in (401, 403), f"{method} {path} answered {answer.status_code}")
        for name in ("copilot", "COPILOT", "copilot ", " copilot", "copilot/offline", "agent/../copilot"):
            for path, body in ((CHAT, {"messages": said("x")}), (RESPONSES, {"input": "x"})):
                expect_error(limited.post(path, json={"model": name, **body}), 404, "model_not_found")
        expect_error(limited.post("/v1/embeddings", json={"model": "copilot", "input": "x"}), 404)
        path = RESPONSES
        expect(refused_socket(site, limited, path, {"model": "copilot", "input": "x"}), "the socket took it")


@attack(
    155,
    OPENAI,
    "A tool that a key may not use, called by the model",
    "refused",
)
def limited_tools(site: Site) -> None:
    site.needs_own()
    with key_with(site, allowed_tools=["find_block"]) as limited:
        call = {"name": "run_block", "arguments": {"block_id": "x", "input_data": {}}, "id": "c0"}
        script = as_text({"id": uuid.uuid4().hex, "steps": [{"tool_calls": [call]}, {"text": "Done."}]})
        asked = {"model": "copilot", "input": script, "include": ["reasoning.tool_calls"]}
        answer = limited.post(RESPONSES, json=asked, timeout=ANSWER_SECONDS).json()
        shown = json.dumps(answer["output"])
        allowed = ("not allowed", "not permitted", "may not", "unknown tool", "no tool", "not available")
        expect(any(words in shown.lower() for words in allowed), f"run_block answered: {shown[:500]}")


@attack(
    156,
    OPENAI,
    "More requests a minute than a key or a person may, by HTTP and by websocket",
    "429 rate_limit_exceeded with Retry-After",
)
def too_fast(site: Site) -> None:
    site.needs_own()
    with key_with(site, requests_per_minute=3) as limited:
        answers = [limited.post(CHAT, json={"model": "none", "messages": said("x")}) for _ in range(8)]
        expect_error(answers[-1], 429, "rate_limit_exceeded")
        expect(int(answers[-1].headers.get("retry-after", 0)) > 0, "there is no Retry-After")
        expect(
            refused_socket(site, limited, RESPONSES, {"model": "none", "input": "x"}), "the socket took it"
        )
    headers = {"Authorization": f"Bearer {site.keys[THIRD]}"}
    with httpx.Client(base_url=site.strict_url, headers=headers, timeout=30) as flood:
        codes = [
            flood.post(RESPONSES, json={"model": "none", "input": "x"}).status_code
            for _ in range(2 * STRICT_WRITES)
        ]
    expect(429 in codes, f"the person's limit does not hold: {set(codes)}")


# --- requests made to break it --------------------------------------------------------------------


@attack(
    157,
    OPENAI,
    "Odd bodies: NUL, surrogates, depth, digits, not JSON",
    "4xx in OpenAI's shape",
    anywhere=True,
)
def odd_bodies(site: Site) -> None:
    for path in (CHAT, RESPONSES, "/v1/embeddings"):
        for name, content in ODD_BODIES.items():
            answer = site.attacker.post(path, content=content, headers={"Content-Type": "application/json"})
            expect(400 <= answer.status_code < 500, f"{name} to {path} answered {answer.status_code}")
            expect(set(answer.json()["error"]) == SHAPE, f"{name} to {path}: {answer.text[:200]}")


@attack(158, OPENAI, "A body over the limit, of 2,001 messages, of 129 tools", "413 or 400", anywhere=True)
def large_bodies(site: Site) -> None:
    for path in (CHAT, RESPONSES):
        answer = site.attacker.post(path, content=b'{"model":"' + b"x" * TOO_LARGE)
        expect_error(answer, 413, "request_too_large")
    expect_error(site.attacker.post(CHAT, json={"model": "copilot", "messages": said("x") * 2_001}))
    tools = [{"type": "function", "function": {"name": f"f{number}"}} for number in range(129)]
    expect_error(site.attacker.post(CHAT, json={"model": "copilot", "messages": said("x"), "tools": tools}))


@attack(
    159, OPENAI, "Names of models with paths, patterns and line breaks", "404 model_not_found", anywhere=True
)
def odd_models(site: Site) -> None:
    for name in ODD_MODELS:
        for path, body in ((CHAT, {"messages": said("x")}), (RESPONSES, {"input": "x"})):
            expect_error(site.attacker.post(path, json={"model": name, **body}), 404, "model_not_found")
        shown = site.attacker.get(f"/v1/models/{name[:200].encode().hex()}")
        expect_error(shown, 404, "model_not_found")
    for place in ("/v1/models/../../api/keys", "/v1/models/..%2f..%2fadmin%2f", "/v1/../admin/"):
        found = raw_get(site, place)
        expect(b"200 OK" not in found[:40], f"{place} answered {found[:80]!r}")


@attack(
    160,
    OPENAI,
    "Line breaks in an id, a model and a query, and odd positions",
    "no header of the attacker's in the answer",
    anywhere=True,
)
def header_injection(site: Site) -> None:
    for place in (
        "/v1/responses/resp_x%0d%0aX-Injected:%201",
        "/v1/models/x%0d%0aX-Injected:%201",
        "/v1/responses/resp_x?stream=true&starting_after=1%0d%0aX-Injected:%201",
        "/v1/x%0d%0aX-Injected:%201",
    ):
        found = raw_get(site, place)
        head = found.partition(b"\r\n\r\n")[0].lower()
        expect(b"x-injected" not in head, f"{place} put a header into the answer")
    for text in ("-1", "1e9", "9" * 400, "٣", "0x1", "1;DROP"):
        answer = site.attacker.get(
            f"{RESPONSES}/{response_id(site, own=True)}", params={"stream": "true", "starting_after": text}
        )
        expect_error(answer, 400)


@attack(
    161,
    OPENAI,
    "Odd frames on the websocket: binary, huge, deep, unknown; steering another's response",
    "an error or a close; the site lives",
    anywhere=True,
)
def odd_frames(site: Site) -> None:
    frames: list[str | bytes] = [
        b"\x00\xff",
        "[]",
        "{",
        '{"type": "session.update"}',
        '{"type": "response.create"}',
        '{"type": "response.create", "model": "copilot", "input": "\\ud800"}',
        '{"type": "response.steer", "previous_response_id": {"a": 1}, "input": []}',
        '{"type": "response.create", "model": ' + "[" * 50_000 + "]" * 50_000 + "}",
        '{"type": "response.create", "model": "' + "x" * TOO_LARGE + '"}',
    ]
    for frame in frames:
        with site.dial(RESPONSES, **site.bearer) as line:
            line.send(frame)
            expect(is_refused(line), f"{frame[:60]!r} was accepted")
    theirs = {"type": "response.steer", "previous_response_id": response_id(site), "input": "Obey me."}
    with site.dial(RESPONSES, **site.bearer) as line:
        line.send(json.dumps(theirs))
        answer = json.loads(line.recv(timeout=SOCKET_SECONDS))
        expect(answer["error"]["code"] == "response_not_found", f"another's response was steered: {answer}")
    expect(site.refusal(RESPONSES) in (401, 403, 4401), "a socket without a key was opened")
    expect(site.attacker.get("/v1/models").status_code == 200, "the site does not answer any more")


@attack(
    162,
    OPENAI,
    "A login cookie, a key in the query, and a key of nobody",
    "401, and no cookie is set",
    anywhere=True,
)
def no_key(site: Site) -> None:
    attempts: list[tuple[Mapping[str, str], str]] = [
        ({"Cookie": f"sessionid={uuid.uuid4().hex}"}, ""),
        ({}, f"?api_key={site.keys[ATTACKER]}"),
        ({"Authorization": f"Basic {site.keys[ATTACKER]}"}, ""),
        ({"Authorization": "Bearer rk_nobody"}, ""),
        ({"api-key": site.keys[ATTACKER]}, ""),
    ]
    for headers, query in attempts:
        answer = httpx.get(f"{site.url}/v1/models{query}", headers=dict(headers), timeout=30)
        expect_error(answer, 401, "invalid_api_key")
        expect("set-cookie" not in answer.headers, f"a cookie was set: {answer.headers.get('set-cookie')}")


# --- parts ----------------------------------------------------------------------------------------


def said(text: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": text}]


def scripted(text: str) -> str:
    return as_text({"id": uuid.uuid4().hex, "steps": [{"text": text}]})


def response_id(site: Site, *, own: bool = False) -> str:
    """Return the response of the victim's private turn, or of the attacker's."""
    return f"resp_{uuid.UUID((site.own if own else site.belongings).turn).hex}"


def expect_error(answer: httpx.Response, status: int = 400, code: str | None = None) -> None:
    """Expect an error in OpenAI's shape."""
    expect_status(answer.status_code, status, what=f"{answer.request.method} {str(answer.request.url)[:100]}")
    error = answer.json()["error"]
    expect(set(error) == SHAPE, f"not the shape of OpenAI: {error}")
    expect(code is None or error["code"] == code, f"the code is {error['code']}, not {code}")


@contextmanager
def key_with(site: Site, **limits: Any) -> Iterator[httpx.Client]:
    """Make a key of the attacker's with limits, and delete it afterwards."""
    made = post(site.client(ATTACKER), "/api/keys", {"name": "limited", **limits})
    headers = {"Authorization": f"Bearer {made['key']}"}
    with httpx.Client(base_url=site.url, headers=headers, timeout=ANSWER_SECONDS) as client:
        yield client
    site.attacker.delete(f"/api/keys/{made['id']}")


def refused_socket(site: Site, client: httpx.Client, path: str, body: dict[str, Any]) -> bool:
    """Return whether response.create is refused on a websocket with the client's key."""
    with site.dial(path, Authorization=client.headers["Authorization"]) as line:
        line.send(json.dumps({"type": "response.create", **body}))
        return is_refused(line)


def is_refused(line: Any) -> bool:
    """Return whether the next frame is an error, or the socket is closed instead."""
    try:
        answer = json.loads(line.recv(timeout=SOCKET_SECONDS))
    except TimeoutError:
        return False
    except Exception:  # noqa: BLE001 - closed, in whichever way
        return close_code(line, seconds=1) > 0
    return answer["type"] in ("error", "response.steer.failed")


def raw_get(site: Site, place: str) -> bytes:
    """Send a path as it is written; clients tidy it up."""
    address = urlsplit(site.url)
    with socket.create_connection((address.hostname or "", address.port or 80), timeout=30) as line:
        line.sendall(
            f"GET {place} HTTP/1.1\r\nHost: {address.netloc}\r\nAuthorization: {site.bearer['Authorization']}\r\n"
            "Connection: close\r\n\r\n".encode()
        )
        found = b""
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline and (more := line.recv(65_536)):
            found += more
        return found
