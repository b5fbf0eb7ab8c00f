"""The calls of the HTTP API that the terminal chat needs."""

from __future__ import annotations

import uuid
from typing import Any
from urllib.parse import urlsplit

import httpx

from copilot_project import limits
from copilot_project.terminal.sanitize import clean

LOOPBACK = {"localhost", "127.0.0.1", "::1"}


class ChatFailed(Exception):
    """The message could not be answered."""


class SiteRefused(ChatFailed):
    """The site refused the request."""

    def __init__(self, status: int, message: str) -> None:
        self.status = status
        super().__init__(message)


class ConnectionLost(ChatFailed):
    """The site cannot be reached. Check that it is running, for example with ./copilot doctor."""

    def __init__(self) -> None:
        super().__init__(self.__doc__)


def open_client(url: str, api_key: str) -> httpx.Client:
    """Return a client; requests to this machine ignore the proxy settings of the environment."""
    return httpx.Client(
        base_url=url,
        headers={"Authorization": f"Bearer {api_key}"},
        timeout=httpx.Timeout(limits.CHAT_SILENCE_SECONDS, connect=limits.CHAT_CONNECT_SECONDS),
        trust_env=urlsplit(url).hostname not in LOOPBACK,
    )


def check_key(client: httpx.Client) -> None:
    """Raise SiteRefused if the key is not accepted, before the user has typed anything."""
    request(client, "GET", "/api/sessions")


def create_session(client: httpx.Client) -> str:
    return str(post(client, "/api/sessions", {})["id"])


def submit_turn(client: httpx.Client, session_id: str, message: str, model: str = "") -> str:
    """Send a message and return the id of its turn. Repeating the request after a lost response is safe."""
    body = {"message": message, "client_id": uuid.uuid4().hex} | ({"model": model} if model else {})
    path = f"/api/sessions/{session_id}/turns"
    try:
        answer = post(client, path, body)
    except ConnectionLost:
        answer = post(client, path, body)
    return str(answer["turn"]["id"])


def turns_of(client: httpx.Client, session_id: str) -> list[str]:
    """Return the ids of the newest turns of the session, oldest first, up to the one that runs."""
    found = request(client, "GET", f"/api/sessions/{session_id}").json()
    answers = (message for message in found.get("messages", ()) if message.get("role") == "assistant")
    ids = [str((message.get("metadata") or {}).get("turn_id", "")) for message in answers]
    active = found.get("active_turn") or {}
    return [turn_id for turn_id in dict.fromkeys([*ids, str(active.get("id", ""))]) if turn_id]


def cancel_turn(client: httpx.Client, turn_id: str) -> None:
    post(client, f"/api/turns/{turn_id}/cancel", {})


def post(client: httpx.Client, path: str, body: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = request(client, "POST", path, json=body).json()
    return found


def request(client: httpx.Client, method: str, path: str, **options: Any) -> httpx.Response:
    try:
        answer = client.request(method, path, **options)
    except httpx.TransportError as error:
        raise ConnectionLost from error
    if answer.is_error:
        raise refusal(answer)
    return answer


def refusal(answer: httpx.Response) -> SiteRefused:
    """Return the error in the response, with the problem of each field, or its status if it has none."""
    try:
        error = answer.json()["error"]
        fields = [str(problem) for problems in (error.get("fields") or {}).values() for problem in problems]
        text = " ".join([*(str(error[part]) for part in ("message", "hint") if error.get(part)), *fields])
    except (ValueError, KeyError, TypeError, AttributeError):
        text = f"The site answered {answer.status_code} {answer.reason_phrase}."
    return SiteRefused(answer.status_code, clean(text))
