"""A small OAuth2 provider, run as a process of its own: codes with PKCE, tokens that end, refresh tokens that rotate.

`python oauth_server.py` prints its port. What it does next is told by POST /control with a JSON object:
`life` (seconds of an access token), `fail` (status to answer the next token request with), `revoke` (true: forget
every refresh token), `slow` (seconds each token request takes). GET /control answers what it has seen.
"""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

CLIENT, SECRET = "ratchet", "canary-client-secret"


class Provider:
    """What it remembers."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.life: float = 3600
        self.fail = 0
        self.slow = 0.0
        self.with_refresh = True
        self.as_form = False
        self.codes: dict[str, dict[str, str]] = {}
        self.refresh_tokens: set[str] = set()
        self.seen: list[dict[str, str]] = []
        self.at_once = self.most_at_once = 0

    def authorize(self, query: dict[str, str]) -> str:
        code = secrets.token_urlsafe(8)
        self.codes[code] = query
        return f"{query['redirect_uri']}?{urlencode({'code': code, 'state': query['state']})}"

    def token(self, form: dict[str, str]) -> tuple[int, dict[str, Any]]:
        with self.lock:
            self.seen.append(form)
            if self.fail:
                status, self.fail = self.fail, 0
                return status, {"oops": True}
            if (form.get("client_id"), form.get("client_secret")) != (CLIENT, SECRET):
                return 401, {"error": "invalid_client"}
            if form["grant_type"] == "refresh_token":
                return self.refresh(form)
            return self.trade(form)

    def trade(self, form: dict[str, str]) -> tuple[int, dict[str, Any]]:
        asked = self.codes.pop(form.get("code", ""), None)
        challenge = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
        if (
            asked is None
            or asked["redirect_uri"] != form.get("redirect_uri")
            or asked["code_challenge"] != base64.urlsafe_b64encode(challenge).decode().rstrip("=")
        ):
            return 400, {"error": "invalid_grant", "error_description": "The code is not valid."}
        return 200, self.grant() | {"scope": asked.get("scope", "")}

    def refresh(self, form: dict[str, str]) -> tuple[int, dict[str, Any]]:
        if form.get("refresh_token") not in self.refresh_tokens:
            return 400, {"error": "invalid_grant"}
        self.refresh_tokens.discard(form["refresh_token"])  # each is good for once
        return 200, self.grant()

    def grant(self) -> dict[str, Any]:
        granted: dict[str, Any] = {
            "access_token": "canary-access-" + secrets.token_hex(8),
            "token_type": "Bearer",
            "expires_in": self.life,
        }
        if self.with_refresh:
            granted["refresh_token"] = "canary-refresh-" + secrets.token_hex(8)
            self.refresh_tokens.add(granted["refresh_token"])
        return granted

    def control(self, said: dict[str, Any]) -> None:
        if said.pop("revoke", False):
            self.refresh_tokens.clear()
        for name, value in said.items():
            setattr(self, name, value)


PROVIDER = Provider()


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        if parts.path == "/authorize":
            query = {name: values[0] for name, values in parse_qs(parts.query).items()}
            self.send_response(302)
            self.send_header("Location", PROVIDER.authorize(query))
            self.end_headers()
        else:
            self.reply(200, {"seen": PROVIDER.seen, "most_at_once": PROVIDER.most_at_once})

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        if self.path == "/control":
            PROVIDER.control(json.loads(body))
            self.reply(200, {})
            return
        form = {name: values[0] for name, values in parse_qs(body).items()}
        if self.headers.get("Authorization", "").startswith("Basic "):
            name, _, word = base64.b64decode(self.headers["Authorization"][6:]).decode().partition(":")
            form |= {"client_id": name, "client_secret": word}
        with PROVIDER.lock:
            PROVIDER.at_once += 1
            PROVIDER.most_at_once = max(PROVIDER.most_at_once, PROVIDER.at_once)
        time.sleep(PROVIDER.slow)
        try:
            self.reply(*PROVIDER.token(form))
        finally:
            with PROVIDER.lock:
                PROVIDER.at_once -= 1

    def reply(self, status: int, answer: dict[str, Any]) -> None:
        as_form = PROVIDER.as_form and self.path == "/token"
        body = (urlencode(answer) if as_form else json.dumps(answer)).encode()
        self.send_response(status)
        kind = "application/x-www-form-urlencoded" if as_form else "application/json"
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Quiet."""


if __name__ == "__main__":
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        print(server.server_address[1], flush=True)
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        sys.stdin.read()  # until the tests are over
