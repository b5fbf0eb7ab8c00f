"""Secrets at rest, in logs and errors, and misconfigured production."""

from __future__ import annotations

import pickle
import re
import uuid
from collections.abc import Mapping
from typing import Any

import httpx
from kombu import Connection

from attack.belongings import SECRET
from attack.case import Section, attack, expect, proven_by
from attack.site import ATTACKER, PASSWORD, Site
from tests.harness import ROOT

SECRETS = Section.SECRETS
INNARDS = ("Traceback", "site-packages", "DJANGO_SETTINGS", "SECRET_KEY", 'File "/')


@attack(
    95,
    SECRETS,
    "Read a dump of the database for credentials, keys and passwords",
    "none in plain text",
    tests=["executions/credentials/test_lookup.py::test_a_secret_sealed_with_a_lost_key_is_a_clear_error"],
)
def dump(site: Site) -> None:
    stack = site.needs_own()
    site.own  # noqa: B018 - makes the credential
    secrets = {
        "a credential": SECRET,
        "an API key": site.keys[ATTACKER],
        "a password": PASSWORD,
        "a trigger's address": site.own.trigger_url.rpartition("/")[2],
    }
    for path in stack.home.glob("copilot.sqlite3*"):
        content = path.read_bytes()
        for what, secret in secrets.items():
            expect(secret.encode() not in content, f"{what} is in {path.name}")


proven_by(
    96,
    SECRETS,
    "Change the encryption key",
    "old and new read, `rotate` seals anew, the old key may go",
    "executions/credentials/test_rotation.py::test_after_a_rotation_the_old_key_may_go",
    "executions/credentials/test_rotation.py::test_what_no_key_opens_is_named_and_the_rest_is_done",
)


@attack(
    97,
    SECRETS,
    "Look for secrets in the logs of every process",
    "none",
    tests=[
        "system/observability/test_canary.py::test_no_log_line_has_it",
        "system/observability/test_canary.py::test_flower_shows_ids_only",
        "system/observability/test_canary.py::test_no_trace_has_it",
        "system/observability/test_canary.py::test_no_error_report_has_it",
        "executions/credentials/test_rotation.py::test_a_canary_shows_up_nowhere",
    ],
)
def logs(site: Site) -> None:
    stack = site.needs_own()
    secrets = (SECRET, site.keys[ATTACKER], site.own.trigger_secret, site.own.trigger_url.rpartition("/")[2])
    httpx.get(f"{site.url}/api/me", headers={"Authorization": f"Bearer {SECRET}"})
    for path in stack.home.glob("*.log"):
        content = path.read_text(errors="replace")
        for secret in secrets:
            expect(secret not in content, f"{path.name} has {secret[:12]}...")


proven_by(
    98,
    SECRETS,
    "`manage.py check --deploy`; start with DEBUG or a development key",
    "no warning; refused",
    "copilot_project/test_production.py::test_the_deployment_checks_are_clean_in_production",
    "copilot_project/test_production.py::test_production_refuses_what_is_not_safe_and_says_what_to_do",
)
proven_by(
    99,
    SECRETS,
    "Flower without a password; what it shows of tasks",
    "on the loopback alone; ids alone",
    "system/observability/test_canary.py::test_flower_shows_ids_only",
    "copilot_project/test_production.py::test_messages_between_processes_are_json_and_carry_ids_alone",
)


@attack(
    100,
    SECRETS,
    "Tasks that nobody wrote and messages in pickle, put into the queue",
    "refused; the worker lives",
)
def foreign_tasks(site: Site) -> None:
    stack = site.needs_own()
    for name, words in (
        ("no.such.task", ["x"]),
        ("chat.run_turn", ["not-an-id"]),
        ("chat.run_turn", []),
        ("chat.run_turn", ["a", "b", "c"]),
    ):
        stack.send_task(name, *words, queue="turns")

    bomb = pickle.dumps(Bomb(str(stack.home / "pickled")))
    with Connection(
        f"redis+socket://{stack.socket}", transport_options={"global_keyprefix": "ratchet:"}
    ) as connection:
        connection.Producer().publish(
            bomb,
            routing_key="turns",
            exchange="",
            content_type="application/x-python-serialize",
            content_encoding="binary",
            headers={"task": "chat.run_turn", "id": "1", "lang": "py", "argsrepr": "", "kwargsrepr": ""},
            correlation_id="1",
        )
    _, turn = site.turn([{"text": "alive"}])
    expect(site.client(ATTACKER).turn(turn)["status"] == "completed", "no turn is answered any more")
    expect(not (stack.home / "pickled").exists(), "the pickle was loaded")
    for name, process in stack.processes.items():
        expect(process.poll() is None, f"{name} ended")


class Bomb:
    """Creates a file when it is unpickled."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, tuple[str, str]]:
        return open, (self.path, "w")


@attack(101, SECRETS, "Redis from the network", "a unix socket alone, and only for its user")
def redis_socket(site: Site) -> None:
    stack = site.needs_own()
    config = b""
    for line in (stack.home / "redis").glob("*.conf"):
        config += line.read_bytes()
    listening = re.findall(rb"^port\s+(\d+)", config, re.MULTILINE)
    expect(listening in ([], [b"0"]), f"it listens on {listening}")
    expect(stack.socket.stat().st_mode & 0o007 == 0, "everybody may use its socket")


proven_by(
    102,
    SECRETS,
    "The admin: a login of hours ago, a password without the second factor",
    "asked again after an hour; no way in without the code; every action is written down",
    "copilot_project/ops/console/test_second_factor.py",
)


@attack(
    103,
    SECRETS,
    "Filters and orders that reach into other tables",
    "ignored, or 400",
    anywhere=True,
    tests=[
        "accounts/api/test_me_and_usage.py::test_unknown_query_parameters_never_reach_the_database",
        "chat/api/test_sessions.py::test_filters_nobody_offers_change_nothing",
    ],
)
def filters(site: Site) -> None:
    for path in ("sessions", "agents", "executions", "files", "keys", "credentials", "reviews"):
        plain = site.attacker.get(f"/api/{path}")
        for query in (
            "ordering=user__password",
            "user__password__startswith=p",
            "session__user__password__startswith=p",
            "id__in=1,2",
            "search=%27%20OR%201=1--",
            "pinned=1)%20OR%20(1=1",
            "state=x' OR '1'='1",
        ):
            found = site.attacker.get(f"/api/{path}?{query}")
            expect(found.status_code in (200, 400), f"/api/{path}?{query} answered {found.status_code}")
            if found.status_code == 200:
                expect(
                    len(found.json()["results"]) <= len(plain.json()["results"]),
                    f"/api/{path}?{query} found more",
                )
            expect("password" not in found.text.lower(), f"/api/{path}?{query} shows a password")


@attack(
    104, SECRETS, "Errors of every kind", "no traceback, no settings, a request's id alone", anywhere=True
)
def error_pages(site: Site) -> None:
    for method, path in (
        ("GET", "/nothing"),
        ("GET", "/api/nothing"),
        ("POST", "/api/me"),
        ("GET", "/api/turns/x"),
        ("GET", "/%00"),
        ("GET", "/api/sessions/%ff"),
        ("TRACE", "/api/me"),
        ("GET", "/static/../settings.py"),
        ("GET", "/admin/nothing"),
        ("GET", "/.env"),
        ("GET", "/.git/config"),
        ("GET", "/api/credentials/oauth/x/callback?state=x"),
    ):
        found = site.attacker.request(method, path)
        expect(
            400 <= found.status_code < 500 or found.status_code in (200, 301, 302),
            f"{path} answered {found.status_code}",
        )
        for word in INNARDS:
            expect(word not in found.text, f"{path} shows {word}")
        expect("x-request-id" in found.headers or found.status_code >= 400, f"{path} has no request id")


@attack(105, SECRETS, "A package swapped at the index", "every pin has the hashes of what may be installed")
def locked(site: Site) -> None:
    for path in (ROOT / "requirements.txt", *(ROOT / "requirements").glob("*.txt")):
        logical = path.read_text().replace("\\\n", " ").splitlines()
        pins = [line for line in logical if re.match(r"[A-Za-z0-9]", line)]
        expect(
            pins and all("==" in pin and "--hash=sha256:" in pin for pin in pins),
            f"{path.name} has a pin without a hash",
        )


def credential(site: Site, **body: str) -> str:
    answer = site.attacker.post("/api/credentials", json={"title": "attack", **body})
    return str(answer.json().get("id", "")) if answer.is_success else ""


@attack(
    110, SECRETS, "A database login without a host, and a caller who names one", "the login is not sent there"
)
def database_login(site: Site) -> None:
    site.needs_own()
    made = credential(
        site, provider="database", kind="user_password", username="reader", password="canary-db-password"
    )
    host, port = "127.0.0.1", site.database.port
    query = {
        "host": host,
        "port": port,
        "database": "shop",
        "query": "SELECT 1",
        "timeout": 5,
        "credentials": {"id": made},
    }
    for inputs in (query, {**query, "credentials": None}):
        site.run_block("SQL Query", inputs)
    site.call_tools(("run_block", {"block_id": site.blocks["SQL Query"], "input_data": query}))
    expect(b"canary-db-password" not in site.database.heard, "the password was sent in clear")
    expect(b"reader" not in site.database.heard, "the user's name was sent")


def run_approved(site: Site, block: str, inputs: Mapping[str, object]) -> dict[str, Any]:
    """Run a block that asks first, and approve it: then nothing but the login's own server holds it back."""
    wish = uuid.uuid4().hex
    asked = site.run_block(block, inputs, client_id=wish).json()
    expect(asked["status"] == "review", f"it did not ask: {str(asked)[:200]}")
    decided = site.attacker.post(f"/api/reviews/{asked['review_id']}/decide", json={"approved": True})
    expect(decided.is_success, decided.text[:200])
    done: dict[str, Any] = site.run_block(block, inputs, client_id=wish).json()
    return done


@attack(127, SECRETS, "A mail login, and a caller who names another server", "the login is not sent there")
def mail_login(site: Site) -> None:
    site.needs_own()
    before = site.mail.connections
    made = credential(
        site,
        provider="smtp",
        kind="user_password",
        username="canary@example.com",
        password="canary-mail-password",
        host="smtp.example.com",
    )
    mail = {
        "to_email": "a@example.com",
        "subject": "x",
        "body": "x",
        "config": {"smtp_server": "127.0.0.1", "smtp_port": site.mail.port},
    }
    for inputs in ({**mail, "credentials": {"id": made}}, mail):
        answer = run_approved(site, "Send Email", inputs)
        expect(answer["status"] == "failed", f"it answered {str(answer)[:200]}")
        expect("smtp.example.com" in answer["error"] or "credential" in answer["error"], answer["error"])
    expect(b"canary" not in site.mail.heard, "the login was sent in clear")
    expect(site.mail.connections == before, "the server was called with a login kept for another")


@attack(128, SECRETS, "Headers kept for a host, over http and on another port", "not sent")
def scoped_headers(site: Site) -> None:
    site.needs_own()
    inputs = {"url": site.outside.url("/scoped"), "method": "GET"}
    kept = {"provider": "http", "kind": "host_scoped", "headers": {"X-Secret": "canary-host-header"}}
    for host in ("127.0.0.1", site.outside.host):
        made = site.attacker.post("/api/credentials", json={**kept, "title": "attack", "host": host})
        chosen = {"credentials": {"id": made.json()["id"]}} if made.is_success else {}
        site.run_block("Send Web Request", inputs)
        site.run_block("Send Authenticated Web Request", inputs | chosen)
    expect(site.outside.visited("/scoped"), "no request was made at all")
    expect(not site.outside.visited("canary-host-header", "/scoped"), "the header was sent over plain http")


proven_by(
    117,
    SECRETS,
    "`docker/.env` in the image or in git",
    "ignored by both",
    "code/test_ignored_files.py::test_git_ignores_files_of_secrets",
    "code/test_ignored_files.py::test_the_image_takes_no_files_of_secrets",
)
proven_by(
    119,
    SECRETS,
    "Production with malformed ENCRYPTION_KEYS, test tools, `.com` as host",
    "refused at the start",
    "copilot_project/test_production.py::test_production_refuses_what_is_not_safe_and_says_what_to_do",
)


@attack(
    "119b",
    SECRETS,
    "Secrets in what the API shows: keys, triggers, webhooks, credentials",
    "write-only",
    anywhere=True,
)
def shown_again(site: Site) -> None:
    mine = site.own
    shown = "".join(
        site.attacker.get(f"/api/{path}").text
        for path in (
            "keys",
            "triggers",
            f"triggers/{mine.trigger}",
            "webhooks",
            f"webhooks/{mine.webhook}",
            "credentials",
            f"credentials/{mine.credential}",
            "me",
            "config",
        )
    )
    for secret in (SECRET, site.keys[ATTACKER], mine.trigger_secret, mine.trigger_url.rpartition("/")[2]):
        expect(secret not in shown, f"{secret[:12]}... is shown")
