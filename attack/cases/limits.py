"""Excessive use: refused, clamped or queued, without affecting other users."""

from __future__ import annotations

import base64
import contextlib
import json
import time
import uuid
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any

import httpx
from websockets.exceptions import ConnectionClosed

from attack.belongings import import_agent, node, post
from attack.case import Section, attack, expect, expect_status
from attack.site import ATTACKER, HEALTH_SECONDS, STRICT_WRITES, THIRD, VICTIM, Site, close_code, frames_of

LIMITS = Section.LIMITS
SOCKETS = 20
SHORT_SECONDS = 10.0
REFUSED = (429, 401, 403)  # where a key is no login there is nothing to count
LONG_WAITS = 200
MOST_THREADS = 150
TIMES = [
    "(" * 5_000,
    "last " * 1_000,
    "1" * 8_000,
    "yesterday " * 500 + "!",
    "2025-" * 1_000,
    " " * 8_000 + "x",
]
ODD_BODIES = {
    "a key twice": b'{"title": "a", "title": "b"}',
    "a number of 10,000 digits": b'{"title": ' + b"9" * 10_000 + b"}",
    "half a surrogate pair": b'{"title": "\\ud800"}',
    "a NUL": b'{"title": "a\\u0000b"}',
    "NaN": b'{"title": NaN}',
    "100,000 brackets": b"[" * 100_000,
    "no UTF-8": b'{"title": "\xff\xfe"}',
    "a list": b"[]",
}


@attack(
    88, LIMITS, "More writes a minute than one person may", "429 with Retry-After; another person is served"
)
def too_many_writes(site: Site) -> None:
    site.needs_own()
    with httpx.Client(base_url=site.strict_url, headers=key_of(site, THIRD), timeout=30) as flood:
        codes = [flood.post("/api/sessions", json={}) for _ in range(STRICT_WRITES + 5)]
    expect_status(codes[-1].status_code, 429)
    expect(int(codes[-1].headers.get("retry-after", 0)) > 0, "there is no Retry-After")
    other = httpx.post(f"{site.strict_url}/api/sessions", json={}, headers=key_of(site, VICTIM), timeout=30)
    expect_status(other.status_code, 201, what="another person's write")


@attack(116, LIMITS, "Writes over the limit on every endpoint that changes something", "429 on each")
def writes_everywhere(site: Site) -> None:
    site.needs_own()
    schema = site.attacker.get("/api/schema/?format=json").json()
    with httpx.Client(base_url=site.strict_url, headers=key_of(site, THIRD), timeout=30) as flood:
        served = {}
        for path, methods in schema["paths"].items():
            if path in ("/api/hooks/{token}", "/api/operations/{operation_id}/complete"):
                continue  # these are counted by the trigger or guarded by a signature, not by person
            for method in {"post", "patch", "delete", "put"} & methods.keys():
                code = flood.request(method, fill(path), json={}).status_code
                if code not in REFUSED:  # the first time, or a new minute has begun
                    use_up(flood)
                    code = flood.request(method, fill(path), json={}).status_code
                if code not in REFUSED:
                    served[f"{method} {path}"] = code
    expect(not served, f"not limited: {served}")


def use_up(flood: httpx.Client) -> None:
    for _ in range(2 * STRICT_WRITES):
        if flood.post("/api/sessions", json={}).status_code == 429:
            return


def fill(path: str) -> str:
    filled = [str(uuid.uuid4()) if part.startswith("{") else part for part in path.split("/")]
    return "/".join(filled)


def key_of(site: Site, person: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {site.keys[person]}"}


@attack(89, LIMITS, "More websockets than one person may have", f"those over {SOCKETS} are closed with 4429")
def too_many_sockets(site: Site) -> None:
    site.needs_own()
    lines = [site.dial("/ws/events/", **key_of(site, THIRD)) for _ in range(SOCKETS + 3)]
    try:
        codes = [close_code(line, seconds=5) for line in lines[-3:]]
        expect(codes == [4429] * 3, f"the last ones got {codes}")
        with site.dial("/ws/events/", **key_of(site, VICTIM)) as other:
            expect(close_code(other, seconds=1) == 0, "another person was turned away")
    finally:
        for line in lines:
            line.close()


@attack(
    90,
    LIMITS,
    "Frames of 10 MB, 10,000 at once, binary, no JSON, wrong types",
    "1009, 4429 or 1008; the process lives",
    anywhere=True,
)
def bad_frames(site: Site) -> None:
    for frame, codes in (
        ("x" * 10_000_000, (1009, 1006)),
        ("nonsense", (1008,)),
        (b"\x00\xff", (1008,)),
        ("[" * 10_000, (1008, 1009)),
        ('{"type": 7, "requestId": []}', (1008,)),
        ('{"type":"send"}', (1008,)),
    ):
        with site.dial(**site.bearer) as line:
            with contextlib.suppress(ConnectionClosed):
                line.send(frame)
            expect(close_code(line) in codes, f"{str(frame)[:30]!r} was closed with {line.close_code}")
    with site.dial(**site.bearer) as line:
        with contextlib.suppress(ConnectionClosed):
            for _ in range(10_000):
                line.send('{"type":"abort","requestId":"x"}')
        expect_status(close_code(line), 4429, what="the flood's code")
    with site.dial(**site.bearer) as line:
        line.send(json.dumps({"type": "resume", "requestId": "r", "id": "new"}))
        expect(frames_of(line, "r"), "the process does not answer")


@attack(
    112,
    LIMITS,
    "The largest frames on four websockets at once",
    "others are answered meanwhile",
    anywhere=True,
)
def large_frames(site: Site) -> None:
    nested = json.dumps(
        {"type": "resume", "requestId": "r", "id": "new", "body": [[[[0] * 10] * 10] * 10] * 80}
    )[:500_000]
    body = '{"type":"resume","requestId":"r","id":"new","body":[' + "[]," * 160_000 + "0]}"

    def flood() -> None:
        with site.dial(**site.bearer) as line, contextlib.suppress(ConnectionClosed):
            for _ in range(12):
                line.send(body[:520_000])
                line.send(nested)

    with ThreadPoolExecutor(4) as crowd:
        floods = [crowd.submit(flood) for _ in range(4)]
        slowest = max(site.slowest_health(one) for one in floods)
    expect(slowest < HEALTH_SECONDS, f"/healthz took {slowest:.1f} s")


@attack(91, LIMITS, "Waits of 1e9, -1 and NaN seconds", "clamped to 300, or refused")
def long_waits(site: Site) -> None:
    execution = site.own.execution
    site.attacker.get(f"/api/executions/{execution}?wait=30", timeout=60)
    for value in ("1e9", "-1", "nan", "inf", "x", "9" * 400):
        started = time.monotonic()
        code = site.attacker.get(f"/api/executions/{execution}?wait={value}").status_code
        expect(
            code in (200, 400) and time.monotonic() - started < SHORT_SECONDS,
            f"wait={value} was answered {code}",
        )
    waits: list[object] = [1e9, -1, "NaN", None, "x"]
    found = site.call_tools(
        *(("view_agent_output", {"execution_id": execution, "wait_if_running": value}) for value in waits)
    )
    expect(all(one.get("message") for one in found), f"a tool answered {str(found)[:200]}")


@attack(
    113,
    LIMITS,
    f"{LONG_WAITS} requests that wait for five minutes",
    "no thread for each; gone with their clients",
    slow=True,
)
def many_waits(site: Site) -> None:
    stack = site.needs_own()
    pid = stack.processes["web0"].pid
    slow = {
        "name": "Slow",
        "description": "",
        "nodes": [node("wait", site.blocks["Countdown Timer"], seconds=90)],
        "links": [],
    }
    agent = import_agent(site.client(ATTACKER), slow)
    running = post(site.client(ATTACKER), f"/api/agents/{agent}/execute", {"inputs": {}})["id"]

    def wait_long() -> int:
        try:
            with httpx.Client(base_url=site.url, headers=site.bearer, timeout=4) as somebody:
                return somebody.get(f"/api/executions/{running}?wait=300").status_code
        except httpx.HTTPError:
            return 0

    with ThreadPoolExecutor(LONG_WAITS) as crowd:
        waiting = [crowd.submit(wait_long) for _ in range(LONG_WAITS)]
        time.sleep(2)
        during, slowest = threads_of(pid), site.slowest_health(waiting[0])
        wait(waiting)
    site.attacker.post(f"/api/executions/{running}/cancel")
    time.sleep(2)
    after = threads_of(pid)
    expect(during < MOST_THREADS, f"{during} threads while they waited")
    expect(after < MOST_THREADS, f"{after} threads after they had left")
    expect(slowest < HEALTH_SECONDS, f"/healthz took {slowest:.1f} s")


def threads_of(pid: int) -> int:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("Threads:"))


@attack(
    92,
    LIMITS,
    "Time expressions made for backtracking",
    "answered at once",
    tests=[
        "code/test_regexes.py::test_no_pattern_in_the_source_backtracks_exponentially",
        "code/test_regexes.py::test_no_pattern_put_together_from_pieces_backtracks_exponentially",
    ],
)
def time_expressions(site: Site) -> None:
    started = time.monotonic()
    calls = [("view_agent_output", {"library_agent_id": site.own.agent, "run_time": text}) for text in TIMES]
    found = site.call_tools(*calls)
    expect(len(found) == len(TIMES) and time.monotonic() - started < SHORT_SECONDS, "it took too long")


@attack(93, LIMITS, "A page of 10^9 rows, cursors that are not ours", "clamped, or 400", anywhere=True)
def page_sizes(site: Site) -> None:
    for path in (
        "sessions",
        "agents",
        "executions",
        "files",
        "schedules",
        "triggers",
        "credentials",
        "reviews",
        "store",
        "webhooks",
    ):
        for query in (
            "page_size=1000000000",
            "page_size=-1",
            "page_size=x",
            "page_size=" + "9" * 400,
            "cursor=AAAA",
            "cursor=%00",
            "cursor=" + "A" * 8_000,
            "before=x",
            "offset=1000000000",
        ):
            found = site.attacker.get(f"/api/{path}?{query}")
            expect(
                found.status_code in (200, 400, 404, 414, 431),
                f"/api/{path}?{query[:30]} answered {found.status_code}",
            )
            if found.status_code == 200:
                expect(len(found.json()["results"]) <= 200, f"/api/{path}?{query[:30]} gave everything")


@attack(
    94,
    LIMITS,
    "JSON with double keys, huge numbers, half surrogates, NUL, towers of brackets",
    "400",
    anywhere=True,
)
def odd_json(site: Site) -> None:
    for what, body in ODD_BODIES.items():
        for path in (
            "/api/sessions",
            f"/api/sessions/{site.own.session}/turns",
            "/api/agents",
            "/api/chat",
            "/api/schedules",
        ):
            found = site.attacker.post(path, content=body, headers={"Content-Type": "application/json"})
            expect(400 <= found.status_code < 500, f"{what} to {path} was answered {found.status_code}")


@attack(
    115, LIMITS, "The schema page without a login, 20 at once", "all answered within seconds", anywhere=True
)
def schema_page(site: Site) -> None:
    httpx.get(f"{site.url}/api/schema/", timeout=60)
    started = time.monotonic()
    with ThreadPoolExecutor(20) as crowd:
        codes = list(
            crowd.map(lambda _: httpx.get(f"{site.url}/api/schema/", timeout=60).status_code, range(20))
        )
    expect(set(codes) == {200}, f"it answered {set(codes)}")
    expect(time.monotonic() - started < SHORT_SECONDS, f"it took {time.monotonic() - started:.1f} s")


@attack(
    118,
    LIMITS,
    "Half a surrogate in a cursor, a number as a file's name, odd headers",
    "400, never 500",
    anywhere=True,
)
def odd_texts(site: Site) -> None:
    for text in ("\ud800", '{"a": "\ud800"}', "\x00", "\uffff"):
        cursor = base64.urlsafe_b64encode(text.encode("utf-8", "surrogatepass")).decode()
        for path in ("sessions", "agents", "executions", "files", "schedules", "triggers", "store"):
            found = site.attacker.get(f"/api/{path}", params={"cursor": cursor})
            expect(found.status_code < 500, f"a cursor of {path} was answered {found.status_code}")
    names: list[Any] = [7, None, [], {"a": 1}, "\u0001", "x" * 5000]
    for changed in names:
        part = {"type": "file", "filename": changed, "mediaType": "text/plain", "url": "data:,x"}
        body = {"messages": [{"role": "user", "parts": [part]}]}
        with site.attacker.stream("POST", "/api/chat", json=body) as found:
            expect(found.status_code < 500, f"a file named {changed!r:.20} was answered {found.status_code}")
    for name, value in (
        ("Last-Event-ID", "\xff"),
        ("Range", "\xff"),
        ("If-None-Match", "x" * 5000),
        ("X-Request-ID", "x" * 5000),
    ):
        sent = {name.encode(): value.encode("latin-1")}
        found = site.attacker.get(f"/api/turns/{site.own.turn}", headers=sent)
        expect(found.status_code < 500, f"{name} was answered {found.status_code}")


@attack(
    129,
    LIMITS,
    "A visitor who uses up the writes of all visitors",
    "each is counted alone",
    tests=["accounts/api/test_throttling.py::test_visitors_do_not_share_one_counter"],
)
def shared_counter(site: Site) -> None:
    site.needs_own()
    codes = []
    for source in ("127.0.0.29", "127.0.0.30"):
        visitor = site.browser(site.strict_url, source)
        visitor.get("/api/sessions")
        for _ in range(STRICT_WRITES + 3 if source.endswith("29") else 1):
            visitor.get("/")
            token = visitor.cookies.get("csrftoken") or ""
            last = visitor.post(
                "/api/sessions", json={}, headers={"X-CSRFToken": token, "Origin": site.strict_url}
            )
        codes.append(last.status_code)
    expect(codes[1] != 429, f"the second visitor was answered {codes[1]} after the first had {codes[0]}")
