"""The client that the conformance suite of the protocol drives: `python conformance_client.py URL`.

It uses the product's own code: a row for the server, its tools listed, calls, sign-ins. The person and their browser
are played here; so is the address of this site, which the suite prescribes.
"""

from __future__ import annotations

import json
import os
import sys
import uuid
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import django
import httpx

SCENARIO = os.environ.get("MCP_CONFORMANCE_SCENARIO", "")
CONTEXT: dict[str, Any] = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")
DOCUMENT = "https://conformance-test.local/client-metadata.json"
MAX_SIGN_INS = 3


def main(url: str) -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "copilot_project.settings")
    django.setup()
    play_the_site()
    from accounts.models import User
    from connections.models import ToolServer
    from connections.servers import NewServer, add_server

    user = User.objects.create(username=uuid.uuid4().hex)
    auth = ToolServer.Auth.SIGN_IN if SCENARIO.startswith("auth/") else ToolServer.Auth.NONE
    server = add_server(NewServer(url=url, user=user, auth=auth))
    if os.environ.get("MCP_CONFORMANCE_PROTOCOL_VERSION", "") < "2026" and SCENARIO != "request-metadata":
        server.era = ToolServer.Era.HANDSHAKE
        server.save()
    if "client_id" in CONTEXT:
        enter_client(server)
    run(server, user)


def play_the_site() -> None:
    """Let the guarded client reach the suite's servers, whose ports are known to nobody before."""
    from boundary.policy import AllowList
    from connections.oauth import registration

    local = {"localhost", "127.0.0.1"}
    AllowList.__contains__ = lambda self, target: target.host in local  # type: ignore[method-assign]
    registration.document_url = lambda: DOCUMENT


def enter_client(server: Any) -> None:
    """As an operator enters a client that was registered by hand."""
    from durable.encryption import seal

    server.oauth = {"client_id": CONTEXT["client_id"], "auth": "client_secret_basic"}
    server.sealed_client_secret = seal(CONTEXT.get("client_secret", ""))
    server.save()


def run(server: Any, user: Any) -> None:
    """List the tools and call each, signing in whenever the server wants it."""
    from connections import tool_lists
    from connections.errors import ToolServerError

    signing_in(lambda: tool_lists.refresh(server, user.pk), server, user)
    for tool in server.tools.filter(state="approved"):
        for arguments in arguments_for(tool):
            try:
                signing_in(lambda tool=tool, arguments=arguments: call(tool, user, arguments), server, user)
            except ToolServerError as error:
                print(f"{tool.name}: {error}")


def call(tool: Any, user: Any, arguments: dict[str, Any]) -> None:
    """Call a tool and answer its questions, as a person who agrees with what is suggested."""
    from connections.calls import call_tool
    from connections.outcomes import InputWanted
    from tools.base import PersonAnswer
    from tools.connected_results import answers_from, form_for

    outcome = call_tool(tool, user.pk, arguments)
    for _ in range(10):
        if not isinstance(outcome, InputWanted):
            return
        answers = None
        if outcome.questions:
            data = {"questions": {key: {"url": one.url} for key, one in outcome.questions.items()}}
            answers = answers_from(data, PersonAnswer(approved=True, data=form_for(tool, outcome).data))
        outcome = call_tool(tool, user.pk, arguments, answers=answers, state=outcome.state)


def signing_in(work: Any, server: Any, user: Any) -> None:
    from connections.errors import SignInNeeded

    for _ in range(MAX_SIGN_INS):
        try:
            work()
            return
        except SignInNeeded as needed:
            server.refresh_from_db()
            sign_in(server, user, needed.challenge)
            server.refresh_from_db()
    print("The server wants one sign-in after the other.")


def sign_in(server: Any, user: Any, challenge: str) -> None:
    from connections.oauth import sign_ins

    if not challenge:  # nothing was sent yet: ask without a token, to hear what the server wants
        challenge = httpx.post(server.url, json={}).headers.get("www-authenticate", "")
    page = sign_ins.start(server, user, "browser", challenge=challenge)
    back = dict(parse_qsl(urlsplit(httpx.get(page, follow_redirects=False).headers["location"]).query))
    state = sign_ins.read_state(user, "browser", back["state"])
    answer = sign_ins.SignInAnswer(code=back["code"], state=back["state"], issuer=back.get("iss", ""))
    server.refresh_from_db()
    sign_ins.finish(server, user, answer, issuer=state["issuer"])


def arguments_for(tool: Any) -> list[dict[str, Any]]:
    """Return the arguments that the scenario prescribes for a tool, or some that fit its schema."""
    given = [one for one in CONTEXT.get("toolCalls", []) if one.get("name") == tool.name]
    if given:
        return [one.get("arguments", {}) for one in given]
    schema = tool.definition.get("inputSchema", {})
    samples = {"string": "text", "number": 1, "integer": 1, "boolean": True, "array": [], "object": {}}
    properties = schema.get("properties", {})
    return [{name: samples.get(field.get("type"), "text") for name, field in properties.items()}]


if __name__ == "__main__":
    main(sys.argv[-1])
