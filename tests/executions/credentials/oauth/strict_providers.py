"""The eight well-known providers as strict OAuth2 servers, each with its habits, at /NAME/authorize and /NAME/token.

`python strict_providers.py ORIGIN` prints its port; ORIGIN is where the registered callbacks are. Whatever a provider's
documentation does not allow is refused: another redirect address, no PKCE, scopes it does not know or that are joined
otherwise, the secret in the wrong place, a code or a rotated refresh token used twice.
"""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
import sys
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit

CLIENT, SECRET = "ratchet", "canary/client secret"  # needs encoding in a Basic header
HOUR = 3600


@dataclass(frozen=True, kw_only=True)
class Habits:
    """What one provider asks for and answers."""

    scopes: frozenset[str]
    separator: str = " "
    basic: bool = False
    required: tuple[tuple[str, str], ...] = ()  # of the authorization request, or there is no refresh token
    life: int | None = HOUR  # None: tokens that do not end, and no refresh token
    rotates: bool = True  # each refresh token is good for once
    answers_scope: str | None = " "  # how the scopes of the answer are joined; None: not told
    form_unless_asked: bool = False
    status_of_errors: int = 400


PROVIDERS = {
    "discord": Habits(scopes=frozenset({"identify", "email", "guilds"}), life=7 * 24 * HOUR),
    "github": Habits(
        scopes=frozenset({"repo", "read:user", "gist"}),
        life=None,
        answers_scope=",",
        form_unless_asked=True,
        status_of_errors=200,
    ),
    "google": Habits(
        scopes=frozenset({"openid", "email", "https://www.googleapis.com/auth/gmail.send"}),
        required=(("access_type", "offline"), ("prompt", "consent")),
        rotates=False,
    ),
    "linear": Habits(scopes=frozenset({"read", "write"}), separator=",", life=24 * HOUR),
    "notion": Habits(scopes=frozenset(), basic=True, required=(("owner", "user"),), answers_scope=None),
    "reddit": Habits(
        scopes=frozenset({"identity", "read", "submit"}),
        basic=True,
        required=(("duration", "permanent"),),
        rotates=False,
    ),
    "todoist": Habits(scopes=frozenset({"data:read_write"}), separator=",", life=None, answers_scope=None),
    "twitter": Habits(
        scopes=frozenset({"tweet.read", "tweet.write", "users.read", "offline.access"}), basic=True
    ),
}


class Refused(Exception):
    """The request breaks a rule; the text is the error code."""


@dataclass
class Memory:
    """What one provider has given out."""

    codes: dict[str, dict[str, str]] = field(default_factory=dict)
    refresh_tokens: dict[str, str] = field(default_factory=dict)  # with their scopes


MEMORY = {name: Memory() for name in PROVIDERS}
LOCK = threading.Lock()


def authorize(name: str, asked: dict[str, str], origin: str) -> str:
    """Return where the browser goes next."""
    habits = PROVIDERS[name]
    if asked.get("redirect_uri") != f"{origin}/api/credentials/oauth/{name}/callback":
        raise Refused("redirect_uri_mismatch")
    if asked.get("client_id") != CLIENT or asked.get("response_type") != "code" or not asked.get("state"):
        raise Refused("invalid_request")
    if asked.get("code_challenge_method") != "S256" or len(asked.get("code_challenge", "")) != 43:
        raise Refused("pkce_required")
    if not set(filter(None, asked.get("scope", "").split(habits.separator))) <= habits.scopes:
        raise Refused("invalid_scope")
    code = secrets.token_urlsafe(16)
    MEMORY[name].codes[code] = asked
    return f"{asked['redirect_uri']}?{urlencode({'code': code, 'state': asked['state']})}"


def trade(name: str, form: dict[str, str], authorization: str) -> dict[str, Any]:
    """Return tokens for a code or a refresh token."""
    habits, memory = PROVIDERS[name], MEMORY[name]
    check_client(habits, form, authorization)
    if form.get("grant_type") == "refresh_token":
        given = form.get("refresh_token", "")
        if given not in memory.refresh_tokens:
            raise Refused("invalid_grant")
        scope = memory.refresh_tokens[given]
        if habits.rotates:
            del memory.refresh_tokens[given]
        return grant(name, scope, refreshes=habits.rotates)
    asked = memory.codes.pop(form.get("code", ""), None)
    digest = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
    proof = base64.urlsafe_b64encode(digest).decode().rstrip("=")
    if asked is None or asked["redirect_uri"] != form.get("redirect_uri") or asked["code_challenge"] != proof:
        raise Refused("invalid_grant")
    wanted = set(habits.required) <= set(asked.items())
    offline = name != "twitter" or "offline.access" in asked.get("scope", "")
    return grant(name, asked.get("scope", ""), refreshes=habits.life is not None and wanted and offline)


def check_client(habits: Habits, form: dict[str, str], authorization: str) -> None:
    """Take the secret in one place only, the right one."""
    scheme, _, encoded = authorization.partition(" ")
    if habits.basic:
        user, _, word = (
            base64.b64decode(encoded).decode().partition(":") if scheme == "Basic" else ("", "", "")
        )
        known = (unquote(user), unquote(word)) == (CLIENT, SECRET) and "client_secret" not in form
    else:
        known = (form.get("client_id"), form.get("client_secret")) == (CLIENT, SECRET) and not authorization
    if not known:
        raise Refused("invalid_client")


def grant(name: str, scope: str, *, refreshes: bool) -> dict[str, Any]:
    habits = PROVIDERS[name]
    granted: dict[str, Any] = {"access_token": f"{name}-{secrets.token_hex(8)}", "token_type": "bearer"}
    if habits.life is not None:
        granted["expires_in"] = habits.life
    if habits.answers_scope is not None:
        granted["scope"] = habits.answers_scope.join(filter(None, scope.split(habits.separator)))
    if refreshes:
        granted["refresh_token"] = f"{name}-refresh-{secrets.token_hex(8)}"
        MEMORY[name].refresh_tokens[granted["refresh_token"]] = scope
    return granted


class Handler(BaseHTTPRequestHandler):
    origin = ""

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        name = parts.path.split("/")[1]
        with LOCK:
            try:
                location = authorize(name, dict(parse_qsl(parts.query)), self.origin)
            except Refused as error:
                return self.reply(400, {"error": str(error)})
        self.send_response(302)
        self.send_header("Location", location)
        self.send_header("Content-Length", "0")
        return self.end_headers()

    def do_POST(self) -> None:
        name = self.path.split("/")[1]
        body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        with LOCK:
            try:
                if self.headers.get("Content-Type") != "application/x-www-form-urlencoded":
                    raise Refused("unsupported_media_type")
                answer = trade(name, dict(parse_qsl(body)), self.headers.get("Authorization", ""))
            except Refused as error:
                return self.reply(PROVIDERS[name].status_of_errors, {"error": str(error)})
        as_form = PROVIDERS[name].form_unless_asked and "json" not in self.headers.get("Accept", "")
        return self.reply(200, answer, as_form=as_form)

    def reply(self, status: int, answer: dict[str, Any], *, as_form: bool = False) -> None:
        body = (urlencode(answer) if as_form else json.dumps(answer)).encode()
        self.send_response(status)
        self.send_header(
            "Content-Type", "application/x-www-form-urlencoded" if as_form else "application/json"
        )
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Quiet."""


if __name__ == "__main__":
    Handler.origin = sys.argv[1]
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        print(server.server_address[1], flush=True)
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        sys.stdin.read()  # until the tests are over
