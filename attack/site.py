"""The site under attack: one that is started for it, or a running one."""

from __future__ import annotations

import contextlib
import json
import shutil
import tempfile
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import httpx
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect

from attack.belongings import Belongings, furnish
from attack.case import NotHere
from attack.outside import Listener, Stranger, ask_for_password, listener, offer_login, stranger
from tests.harness import Client, Stack, eventually

PASSWORD = "a good password"  # of every user of the test stack
ATTACKER, VICTIM, THIRD = "ann", "bob", "cay"
STRICT_WRITES = 60
SOCKET_SECONDS = 20.0
HEALTH_SECONDS = 1.5
REFERENCE_SECONDS = 0.02
TURN_SECONDS = 120.0
MAIL_PORTS = (2525, 587, 465, 25)
ELSEWHERE = "https://example.com/hook"
INTERNAL_KEY = "the key of the outside services"
GENEROUS = {
    "COPILOT_MAX_RUNNING_TURNS_PER_USER": "100",
    "COPILOT_MAX_IN_FLIGHT_TURNS_PER_USER": "1000",
    "COPILOT_MAX_WRITES_PER_MINUTE": "1000000",
    "INTERNAL_API_KEY": INTERNAL_KEY,
}
STRICT = {
    "COPILOT_MAX_WRITES_PER_MINUTE": str(STRICT_WRITES),
    "COPILOT_ALLOW_ANONYMOUS": "true",
    "HOST": "127.0.0.1",
}


@dataclass
class Site:
    """The URLs and keys of a site, and what an attacker can do with them."""

    url: str
    keys: Mapping[str, str]
    outside: Stranger
    stack: Stack | None = None  # None: a site that was not started here
    strict_url: str = ""  # a web process with tight limits that admits visitors
    servers: Mapping[str, Listener] = field(default_factory=dict)
    clients: dict[str, Client] = field(default_factory=dict)

    # --- people -------------------------------------------------------------------------------------

    def client(self, person: str) -> Client:
        if person not in self.clients:
            self.clients[person] = Client(self.url, self.keys[person])
        return self.clients[person]

    @property
    def attacker(self) -> httpx.Client:
        return self.client(ATTACKER).http

    @property
    def victim(self) -> httpx.Client:
        return self.client(VICTIM).http

    @property
    def hook_url(self) -> str:
        """Return the target of webhooks; a remote site cannot reach a server on this machine."""
        return self.outside.url("/hook") if self.stack is not None else ELSEWHERE

    @cached_property
    def belongings(self) -> Belongings:
        """Return one of each kind of object, all of them the victim's."""
        return furnish(self.client(VICTIM), self.hook_url)

    @cached_property
    def own(self) -> Belongings:
        """Return one of each kind of object, all of them the attacker's."""
        return furnish(self.client(ATTACKER), self.hook_url)

    def browser(self, url: str = "", source: str = "127.0.0.1") -> httpx.Client:
        """Return a client with cookies and no login, calling from this address."""
        transport = httpx.HTTPTransport(local_address=source)
        return httpx.Client(base_url=url or self.url, transport=transport, timeout=30)

    def logged_in(self, person: str = ATTACKER) -> httpx.Client:
        """Return a client with the login cookie of this user."""
        self.needs_own()
        browser = self.browser()
        self.log_in(browser, person, PASSWORD)
        return browser

    def log_in(self, browser: httpx.Client, name: str, password: str, **headers: str) -> httpx.Response:
        token = (
            browser.get("/login/").text.partition('name="csrfmiddlewaretoken" value="')[2].partition('"')[0]
        )
        form = {"username": name, "password": password, "csrfmiddlewaretoken": token}
        return browser.post("/login/", data=form, headers={"Referer": str(browser.base_url), **headers})

    def needs_own(self) -> Stack:
        """Return the stack; raise NotHere if the site was not started here."""
        if self.stack is None:
            raise NotHere("it needs a site of its own")
        return self.stack

    @property
    def database(self) -> Listener:
        """Return a hostile PostgreSQL server that the site may reach."""
        return self.servers["database"]

    @property
    def mail(self) -> Listener:
        """Return a hostile mail server that the site may reach."""
        return self.servers["mail"]

    # --- websockets ---------------------------------------------------------------------------------

    def dial(self, path: str = "/ws/chat/", url: str = "", **headers: str) -> ClientConnection:
        address = (url or self.url).replace("http", "ws", 1) + path
        return connect(
            address, additional_headers=headers, proxy=None, max_size=None, open_timeout=SOCKET_SECONDS
        )

    def refusal(self, path: str = "/ws/chat/", url: str = "", **headers: str) -> int:
        """Return the HTTP status or close code with which a socket is refused, or 0 if it is accepted."""
        try:
            with self.dial(path, url, **headers) as line:
                return close_code(line, seconds=3)
        except InvalidStatus as refused:
            return refused.response.status_code

    @property
    def bearer(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.keys[ATTACKER]}"}

    # --- turns --------------------------------------------------------------------------------------

    def turn(
        self, steps: Sequence[Mapping[str, Any]], *, person: str = ATTACKER, **session: Any
    ) -> tuple[str, str]:
        """Run a turn with these steps of the model; return the ids of session and turn once it has ended."""
        self.needs_own()
        client = self.client(person)
        session_id = client.new_session(**session)
        turn = client.send(session_id, {"id": uuid.uuid4().hex, "steps": list(steps)})
        client.wait(turn["id"], seconds=TURN_SECONDS)
        return session_id, turn["id"]

    def call_tools(
        self, *calls: tuple[str, Mapping[str, Any] | str], person: str = ATTACKER, **session: Any
    ) -> list[dict[str, Any]]:
        """Have the model call these tools in parallel; return their results in order."""
        wanted = [
            {"name": name, "arguments": arguments, "id": f"c{number}"}
            for number, (name, arguments) in enumerate(calls)
        ]
        session_id, _ = self.turn([{"tool_calls": wanted}, {"text": "Done."}], person=person, **session)
        return self.results(session_id, person)

    def call_in_turn(
        self, *calls: tuple[str, Mapping[str, Any]], person: str = ATTACKER, **session: Any
    ) -> list[dict[str, Any]]:
        """Have the model call these tools one after another in one turn; return their results."""
        steps: list[dict[str, Any]] = [
            {"tool_calls": [{"name": name, "arguments": arguments, "id": f"c{number}"}]}
            for number, (name, arguments) in enumerate(calls)
        ]
        session_id, _ = self.turn([*steps, {"text": "Done."}], person=person, **session)
        return self.results(session_id, person)

    def results(self, session_id: str, person: str = ATTACKER) -> list[dict[str, Any]]:
        parts = self.client(person).answer(session_id)["parts"]
        found = {part["toolCallId"]: part for part in parts if "toolCallId" in part}
        ordered = sorted(found.values(), key=lambda part: int(part["toolCallId"].removeprefix("c")))
        return [outcome(part) for part in ordered]

    def run_block(self, name: str, inputs: Mapping[str, Any], **more: Any) -> httpx.Response:
        body = {"inputs": inputs, **more}
        return self.attacker.post(f"/api/blocks/{self.blocks[name]}/execute", json=body, timeout=60)

    @cached_property
    def blocks(self) -> dict[str, str]:
        found = self.attacker.get("/api/blocks").json()["results"]
        return {block["name"]: block["id"] for block in found}

    # --- effect on other users ----------------------------------------------------------------------

    def slowest_health(self, during: Any) -> float:
        """Return the longest response time of /healthz until the future is done, in seconds of an idle machine."""
        slowest, rounds = 0.0, 0
        with httpx.Client(base_url=self.url, timeout=60) as somebody:
            while not during.done() or rounds < 3:
                started = time.monotonic()
                somebody.get("/healthz").raise_for_status()
                took = time.monotonic() - started
                slowest, rounds = max(slowest, took / slowness()), rounds + 1
        return slowest


def slowness() -> float:
    """Return the ratio of wall time to processor time of some work now; 1 on an idle machine."""
    wall, used = time.monotonic(), time.process_time()
    while time.process_time() - used < REFERENCE_SECONDS:
        pass
    return max((time.monotonic() - wall) / REFERENCE_SECONDS, 1.0)


def outcome(part: Mapping[str, Any]) -> dict[str, Any]:
    """Return the result of a tool, or its error text."""
    found = part.get("output")
    if isinstance(found, dict):
        return found
    return {"type": "error", "error": part.get("state", ""), "message": str(part.get("errorText") or found)}


def close_code(line: ClientConnection, *, seconds: float = SOCKET_SECONDS) -> int:
    """Return the close code of this socket, or 0 if it stays open that long."""
    deadline = time.monotonic() + seconds
    try:
        while time.monotonic() < deadline:
            line.recv(timeout=max(deadline - time.monotonic(), 0.01))
    except TimeoutError:
        return 0
    except ConnectionClosed:
        return line.close_code or 0
    return 0


def frames_of(line: ClientConnection, request_id: str, *, seconds: float = SOCKET_SECONDS) -> list[Any]:
    """Return the frames that answer a request, up to its end."""
    frames: list[Any] = []
    while not frames or frames[-1]["type"] not in ("end", "error", "no-active"):
        frame = json.loads(line.recv(timeout=seconds))
        if frame.get("requestId") == request_id:
            frames.append(frame)
    return frames


@contextlib.contextmanager
def own_site() -> Iterator[Site]:
    """Run a site with a model, workers and two web processes during the block."""
    with contextlib.ExitStack() as around:
        home = Path(tempfile.mkdtemp(prefix="ra-"))
        around.callback(shutil.rmtree, home, ignore_errors=True)
        outside = around.enter_context(stranger())
        database = around.enter_context(listener(ask_for_password, 0))
        mail = around.enter_context(listener(offer_login, *MAIL_PORTS))
        reachable = ",".join(f"127.0.0.1:{server.port}" for server in (outside, database, mail))
        stack = Stack(home, env={**GENEROUS, "BOUNDARY_ALLOWED_HOSTS": reachable}, lease_seconds=10)
        around.callback(stack.stop)
        stack.start(workers=2, webs=1)
        port = stack.web_port(1)
        stack.launch("web1", "-m", "copilot_project.server", env=STRICT | {"PORT": str(port)})
        strict = f"http://127.0.0.1:{port}"
        eventually(lambda: is_healthy(strict), what="the second web process")
        servers = {"database": database, "mail": mail}
        yield Site(stack.url(), stack.keys, outside, stack, strict, servers)


@contextlib.contextmanager
def given_site(url: str, key: str, other_key: str) -> Iterator[Site]:
    """Use a running site, with the API keys of two of its users."""
    with stranger() as outside:
        yield Site(url.rstrip("/"), {ATTACKER: key, VICTIM: other_key}, outside, None, "")


def is_healthy(url: str) -> bool:
    try:
        return httpx.get(f"{url}/healthz", timeout=2).status_code == 200
    except httpx.HTTPError:
        return False
