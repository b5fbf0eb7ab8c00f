"""People at work during a change: what any of them would call an error is kept.

An HTTP client must get an answer, and none of 5xx; only a stream may break off in the middle, and then goes on exactly
where it was. A websocket may be closed with 1001 alone, and comes back.
"""

from __future__ import annotations

import json
import threading
import uuid
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import httpx
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from tests.executions.engine.graphs import agent_json
from tests.harness import Client, Reader, as_text, eventually, parse_sse
from tests.system.deployment.roles import Deployment

GOING_AWAY = 1001
WORDS = 20
SPOKEN = "".join(f"{number} " for number in range(WORDS))
JOIN_SECONDS = 120.0
PAUSE_SECONDS = 0.2
RAW = b"kept while processes come and go" * 8_000


def script() -> dict[str, Any]:
    return {"id": str(uuid.uuid4()), "steps": [{"chunks": WORDS, "delay": 0.05}]}


class StrictReader(Reader):
    """Rejoins a stream that broke off, and takes nothing else for granted."""

    breaks = 0

    def read_to_end(self, *, seconds: float = JOIN_SECONDS) -> StrictReader:
        while not self.finished:
            headers = {"Last-Event-ID": self.at} if self.at else {}
            path = f"/api/turns/{self.turn_id}/stream"
            with self.client.http.stream("GET", path, headers=headers, timeout=httpx.Timeout(30)) as answer:
                assert answer.status_code == 200, answer.status_code
                self._hear_all(answer)
        return self

    def _hear_all(self, answer: httpx.Response) -> None:
        try:
            for at, chunk in parse_sse(answer.iter_lines()):
                self.hear(at, chunk)
        except (httpx.RemoteProtocolError, httpx.ReadError):
            self.breaks += 1


class Load:
    """People who talk, listen, upload and run agents all the time."""

    def __init__(self, deployment: Deployment, people: int) -> None:
        self.deployment = deployment
        self.over = threading.Event()
        self.errors: list[str] = []
        self.answered: list[tuple[Client, str, str, str]] = []
        self.comebacks = self.resumed = self.breaks = self.kept = self.ran = 0
        works = [*([self.talk] * people), self.listen, self.chat, self.upload, self.run_agents]
        self.threads = [threading.Thread(target=self._guard, args=[work]) for work in works]

    def __enter__(self) -> Load:
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.over.set()
        for thread in self.threads:
            thread.join(JOIN_SECONDS)
        self.errors += [f"{thread.name} hangs" for thread in self.threads if thread.is_alive()]

    def _guard(self, work: Callable[[Client], None]) -> None:
        """Each with the error of its own first trouble: whatever a client meets is what the test is about."""
        try:
            work(self.deployment.through_proxy())
        except Exception as error:  # noqa: BLE001
            self.errors.append(f"{work.__name__}: {type(error).__name__}: {error}")

    def rounds(self) -> tuple[int, int, int, int]:
        return len(self.answered), self.resumed, self.kept, self.ran

    def go_on(self, what: str) -> None:
        """Wait until everybody got something done after now, or somebody met an error."""
        before = (len(self.answered) + 2, self.resumed, self.kept + 1, self.ran + 1)
        eventually(
            lambda: self.errors or all(now >= then for now, then in zip(self.rounds(), before, strict=True)),
            what=what,
        )

    def talk(self, client: Client) -> None:
        while not self.over.is_set():
            session = client.new_session()
            turn = client.send(session, script())
            reader = StrictReader(client, turn["id"]).read_to_end()
            self.breaks += reader.breaks
            self.answered.append((client, session, turn["id"], reader.text))

    def listen(self, client: Client) -> None:
        address = f"{client.url.replace('http', 'ws')}/ws/events/"
        while not self.over.is_set():
            with connect(address, additional_headers={"Authorization": f"Bearer {client.key}"}) as socket:
                while not self.over.is_set() and receive(socket, 0.5) is not GONE:
                    pass
            self.comebacks += not self.over.is_set()

    def chat(self, client: Client) -> None:
        """As the AI SDK's own transport does: a ticket, a socket, and `resume` on another one when it closes."""
        while not self.over.is_set():
            chat_id = client.new_session()
            message = {
                "id": str(uuid.uuid4()),
                "role": "user",
                "parts": [{"type": "text", "text": as_text(script())}],
            }
            frame = {"type": "send", "id": chat_id, "trigger": "submit-message", "messages": [message]}
            text = None
            while text is None:
                try:
                    text = self.ask(client, frame)
                except NotSent:
                    continue
                frame = {"type": "resume", "id": chat_id}
            said = client.answer(chat_id)["content"]
            assert text in (SPOKEN, "") and said == SPOKEN, (text, said)
            self.resumed += 1

    def ask(self, client: Client, frame: dict[str, Any]) -> str | None:
        """The whole answer; None when the socket was closed first. An answer that ended meanwhile is not active."""
        ticket = client.http.post("/api/ws-ticket")
        assert ticket.status_code == 200, ticket.text
        address = f"{client.url.replace('http', 'ws')}/ws/chat/?ticket={ticket.json()['ticket']}"
        text = ""
        with connect(address) as socket:
            send(socket, frame | {"requestId": "r"})
            for heard in frames(socket):
                assert heard["type"] != "error", heard
                if heard["type"] in ("end", "no-active"):
                    return text
                chunk = heard.get("chunk", {})
                text += chunk["delta"] if chunk.get("type") == "text-delta" else ""
        return None

    def upload(self, client: Client) -> None:
        while not self.over.is_set():
            answer = client.http.post("/api/files", files={"file": ("note.txt", RAW)})
            assert answer.status_code == 201, answer.text
            path = f"/api/files/{answer.json()['id']}"
            content = client.http.get(f"{path}/content", follow_redirects=True)
            assert content.status_code == 200 and content.content == RAW
            assert client.http.delete(path).status_code == 204
            self.kept += 1
            self.over.wait(PAUSE_SECONDS)

    def run_agents(self, client: Client) -> None:
        nodes = {"in": ("Agent Input", {"name": "x"}), "out": ("Agent Output", {"name": "y"})}
        made = client.http.post("/api/agents", json=agent_json(nodes, ["in.result -> out.value"]))
        assert made.status_code == 201, made.text
        while not self.over.is_set():
            started = client.http.post(
                f"/api/agents/{made.json()['id']}/execute", json={"inputs": {"x": self.ran}}
            )
            assert started.status_code in (200, 201, 202), started.text
            path = f"/api/executions/{started.json()['id']}?wait=10"
            eventually(partial(over, client, path), what=f"the end of {path}")
            assert client.http.get(path).json()["outputs"] == {"y": [self.ran]}
            self.ran += 1
            self.over.wait(PAUSE_SECONDS)

    def check(self) -> None:
        """Nobody met an error, and what everybody read is what is kept."""
        assert self.errors == []
        for client, session, turn_id, text in self.answered:
            assert client.turn(turn_id)["end_reason"] == "done"
            assert client.answer(session)["content"] == text == SPOKEN


GONE = object()


class NotSent(Exception):
    """The server said that it leaves before it was told anything."""


def send(socket: ClientConnection, frame: dict[str, Any]) -> None:
    try:
        socket.send(json.dumps(frame))
    except ConnectionClosed as closed:
        if closed.rcvd is None or closed.rcvd.code != GOING_AWAY:
            raise
        raise NotSent from closed


def receive(socket: ClientConnection, seconds: float) -> Any:
    """The next frame, None when there was none in time, GONE when the server said that it leaves."""
    try:
        return json.loads(socket.recv(timeout=seconds))
    except TimeoutError:
        return None
    except ConnectionClosed as closed:
        if closed.rcvd is None or closed.rcvd.code != GOING_AWAY:
            raise
        return GONE


def frames(socket: ClientConnection) -> Iterator[dict[str, Any]]:
    while (heard := receive(socket, JOIN_SECONDS)) is not GONE:
        assert heard is not None, "nothing more came"
        yield heard


def over(client: Client, path: str) -> bool:
    answer = client.http.get(path, timeout=60)
    assert answer.status_code == 200, answer.text
    return bool(answer.json()["status"] == "COMPLETED")
