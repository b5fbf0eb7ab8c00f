"""Mail over a real SMTP server on this machine."""

from __future__ import annotations

import socketserver
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from blocks.adapters.mail import SmtpMail
from blocks.adapters.network import NetworkAccess
from blocks.ports import Mail, PortError
from boundary.policy import AllowList, NetworkPolicy
from tests.blocks.adapters.certificates import make_certificate
from tests.blocks.adapters.smtp_server import MailServer, serve_mail
from tests.boundary.servers import ListedResolver

NAME = "mail.example.com"
Start = Callable[..., tuple[MailServer, SmtpMail, Mail]]


@pytest.fixture
def start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Start]:
    """Start a server; its name resolves to this machine, and the operator allows that."""
    with ExitStack() as running:

        def begin(name: str = NAME, **facts: Any) -> tuple[MailServer, SmtpMail, Mail]:
            certificate = make_certificate(name)
            theirs = certificate.server_context(tmp_path)
            server = running.enter_context(serve_mail(MailServer(tls=theirs, **facts)))
            if server.tls_from_the_start:
                monkeypatch.setattr("blocks.adapters.mail.IMPLICIT_TLS_PORT", server.port)
            allowed = AllowList.of([f"{NAME}:{server.port}"])
            resolver = ListedResolver(answers={NAME: [["127.0.0.1"]] * 2})
            mail = Mail(
                sender="me@example.com",
                to="ada@example.com",
                subject="Grüße",
                body="Hi Ada,\n.\nbye",
                server=NAME,
                port=server.port,
                username="me@example.com",
                password="right",
                key="run-1",
                ca_certificate=certificate.text,
            )
            return (
                server,
                SmtpMail(NetworkAccess(policy=NetworkPolicy(allowed=allowed), resolver=resolver)),
                mail,
            )

        yield begin


def test_a_message_is_sent_encrypted_and_logged_in(start: Start) -> None:
    server, sender, mail = start()
    sender.send(mail)
    (message,) = server.messages
    assert "To: ada@example.com" in message
    assert "Subject: =?utf-8?" in message
    assert "Hi Ada,\n..\nbye" in message
    assert server.logins == ["\0me@example.com\0right"]


def test_a_second_attempt_is_the_same_message(start: Start) -> None:
    server, sender, mail = start()
    sender.send(mail)
    sender.send(mail)
    ids = {
        line for message in server.messages for line in message.splitlines() if line.startswith("Message-ID")
    }
    assert len(server.messages) == 2
    assert len(ids) == 1


def test_tls_from_the_first_byte_works_too(start: Start) -> None:
    server, sender, mail = start(tls_from_the_start=True)
    sender.send(mail)
    assert len(server.messages) == 1


@pytest.mark.parametrize(
    ("facts", "sentence"),
    [
        ({"password": "other"}, "rejected the login"),
        ({"offers_tls": False}, "does not support encryption"),
        ({"refuses": "RCPT"}, "rejected the recipient ada@example.com"),
        ({"refuses": "MAIL"}, "rejected the sender me@example.com"),
        ({"refuses": "DATA"}, "rejected the message"),
        ({"silent": True}, "closed the connection"),
        ({"name": "other.example.com"}, "certificate or encryption is not valid"),
    ],
)
def test_each_failure_has_its_own_sentence(start: Start, facts: dict[str, Any], sentence: str) -> None:
    server, sender, mail = start(**facts)
    with pytest.raises(PortError, match=sentence) as caught:
        sender.send(mail)
    assert server.messages == []
    assert "right" not in str(caught.value)


def test_a_password_is_never_sent_without_encryption(start: Start) -> None:
    server, sender, mail = start(offers_tls=False)
    with pytest.raises(PortError):
        sender.send(mail)
    assert server.logins == []


@pytest.mark.parametrize(
    "facts",
    [
        {"offers_tls": False, "plain_login": True},
        {"refuses_tls": True, "plain_login": True},
        {"name": "other.example.com", "plain_login": True},
    ],
    ids=["STARTTLS stripped", "STARTTLS refused", "another host's certificate"],
)
def test_a_downgraded_connection_hears_no_login_and_no_message(start: Start, facts: dict[str, Any]) -> None:
    server, sender, mail = start(**facts)
    with pytest.raises(PortError):
        sender.send(mail)
    assert server.logins == [] and server.messages == []
    assert {line.split()[0].upper() for line in server.lines} <= {"EHLO", "STARTTLS", "QUIT"}


def test_a_certificate_that_no_public_authority_signed_is_refused(start: Start) -> None:
    server, sender, mail = start()
    with pytest.raises(PortError, match="certificate or encryption is not valid"):
        sender.send(replace(mail, ca_certificate=""))
    assert server.logins == []


@pytest.mark.parametrize(("plain_login", "logins"), [(True, ["\0me@example.com\0right"]), (False, [])])
def test_the_operator_can_allow_a_server_of_their_own_without_tls(
    start: Start, plain_login: bool, logins: list[str]
) -> None:
    server, _, mail = start(offers_tls=False, plain_login=plain_login)
    here = AllowList.of([f"{NAME}:{server.port}"])
    resolver = ListedResolver(answers={NAME: [["127.0.0.1"]]})
    SmtpMail(NetworkAccess(policy=NetworkPolicy(allowed=here, plaintext=here), resolver=resolver)).send(mail)
    assert len(server.messages) == 1
    assert server.logins == logins


def test_a_private_server_is_refused_before_any_packet(start: Start) -> None:
    server, _, mail = start()
    guarded = SmtpMail(
        NetworkAccess(policy=NetworkPolicy(), resolver=ListedResolver(answers={NAME: [["127.0.0.1"]]}))
    )
    with pytest.raises(PortError, match="not on the public internet"):
        guarded.send(mail)
    for host in ("127.0.0.1", "localhost", "10.0.0.1", "0x7f000001", "169.254.169.254", "[::1]"):
        with pytest.raises(PortError, match="cannot be used"):
            guarded.send(replace(mail, server=host))
    assert server.logins == []


def test_an_unreachable_server_is_told(start: Start) -> None:
    _, sender, mail = start()
    closed = socketserver.TCPServer(("127.0.0.1", 0), socketserver.BaseRequestHandler)
    port = closed.server_address[1]
    closed.server_close()
    reach = NetworkAccess(
        policy=NetworkPolicy(allowed=AllowList.of([f"{NAME}:{port}"])),
        resolver=ListedResolver(answers={NAME: [["127.0.0.1"]]}),
    )
    with pytest.raises(PortError, match="could not be reached"):
        SmtpMail(reach).send(replace(mail, port=port))
    assert sender is not None


def test_a_message_that_cannot_be_written_is_told_before_anything_is_sent(start: Start) -> None:
    server, sender, mail = start()
    with pytest.raises(PortError, match="is not valid"):
        sender.send(replace(mail, subject="a\nBcc: everyone@example.com"))
    assert server.logins == []


def test_the_password_is_not_shown(start: Start) -> None:
    _, _, mail = start()
    assert "right" not in repr(mail)
