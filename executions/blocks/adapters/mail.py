"""Mail over SMTP, as a port: a public server, an encrypted connection, a login."""

from __future__ import annotations

import contextlib
import hashlib
import smtplib
import socket
import ssl
from collections.abc import Iterator
from email.message import EmailMessage
from email.utils import formatdate

from durable import limits
from durable.connections import outside_wait
from executions.blocks.adapters.reaching import Reach, verifying_tls
from executions.ports import Mail, PortError

IMPLICIT_TLS_PORT = 465


class SmtpMail:
    """Sends one message per connection; the name is resolved once and the checked address is the one used."""

    def __init__(self, reach: Reach | None = None) -> None:
        self._reach = reach or Reach()

    @outside_wait()
    def send(self, mail: Mail) -> None:
        message = write_message(mail)
        addresses = self._reach.addresses(mail.server, mail.port)
        plaintext = self._reach.allows_plaintext(mail.server, mail.port)
        tls = None if plaintext else verifying_tls(mail.ca_certificate)
        with explain(mail), connect(mail, addresses, tls) as server:
            if not plaintext or offers_login(server):
                server.login(mail.username, mail.password)
            server.send_message(message)


def offers_login(server: smtplib.SMTP) -> bool:
    server.ehlo_or_helo_if_needed()
    return server.has_extn("auth")


@contextlib.contextmanager
def connect(mail: Mail, addresses: list[str], tls: ssl.SSLContext | None) -> Iterator[smtplib.SMTP]:
    """An encrypted connection, from the start on port 465 and by STARTTLS elsewhere; closed at the end.

    Without `tls`, which only the operator can arrange, the connection stays plain.
    """
    if tls is not None and mail.port == IMPLICIT_TLS_PORT:
        server: smtplib.SMTP = PinnedTlsSmtp(addresses, tls)
    else:
        server = PinnedSmtp(addresses)
    with server:
        server.connect(mail.server, mail.port)
        # smtplib names the host for TLS only when it is given at construction, and connects there at once.
        server._host = mail.server  # type: ignore[attr-defined]
        if tls is not None and mail.port != IMPLICIT_TLS_PORT:
            server.starttls(context=tls)  # raises when it is not offered or not answered with 220
        yield server


def open_socket(addresses: list[str], port: int, timeout: float) -> socket.socket:
    last: OSError = OSError("no address")
    for address in addresses:
        try:
            return socket.create_connection((address, port), timeout)
        except OSError as error:
            last = error
    raise last


class PinnedSmtp(smtplib.SMTP):
    """Connects to the addresses that were checked, whatever the name resolves to by now."""

    def __init__(self, addresses: list[str]) -> None:
        self._addresses = addresses
        super().__init__(timeout=limits.SMTP_SECONDS)

    def _get_socket(self, host: str, port: int, timeout: float) -> socket.socket:
        return open_socket(self._addresses, port, timeout)


class PinnedTlsSmtp(smtplib.SMTP_SSL):
    """The same, encrypted from the first byte."""

    def __init__(self, addresses: list[str], tls: ssl.SSLContext) -> None:
        self._addresses = addresses
        super().__init__(timeout=limits.SMTP_SECONDS, context=tls)

    def _get_socket(self, host: str, port: int, timeout: float) -> socket.socket:
        plain = open_socket(self._addresses, port, timeout)
        return self.context.wrap_socket(plain, server_hostname=host)


def write_message(mail: Mail) -> EmailMessage:
    """Plain text; the Message-ID comes from the key, so that a second attempt is the same message."""
    message = EmailMessage()
    try:
        message["From"] = mail.sender
        message["To"] = mail.to
        message["Subject"] = mail.subject
        message["Date"] = formatdate(localtime=False)
        domain = mail.sender.rpartition("@")[2] or "localhost"
        message["Message-ID"] = f"<{hashlib.sha256(mail.key.encode()).hexdigest()[:32]}@{domain}>"
        message.set_content(mail.body)
    except (ValueError, UnicodeError, IndexError) as error:
        raise PortError(f"The message cannot be written: {error}.") from None
    return message


@contextlib.contextmanager
def explain(mail: Mail) -> Iterator[None]:
    """A sentence of its own for each way this goes wrong."""
    try:
        yield
    except smtplib.SMTPAuthenticationError:
        raise PortError("The mail server refused the login. Check the user name and the password.") from None
    except smtplib.SMTPRecipientsRefused:
        raise PortError(f"The mail server refused the recipient {mail.to}.") from None
    except smtplib.SMTPSenderRefused:
        raise PortError(f"The mail server refused the sender {mail.sender}.") from None
    except smtplib.SMTPDataError as error:
        raise PortError(f"The mail server refused the message ({error.smtp_code}).") from None
    except smtplib.SMTPNotSupportedError:
        raise PortError(
            "The mail server offers no encryption or no login, and without them nothing is sent."
        ) from None
    except (smtplib.SMTPServerDisconnected, smtplib.SMTPConnectError, smtplib.SMTPHeloError):
        raise PortError("The mail server ended the connection.") from None
    except smtplib.SMTPException as error:
        raise PortError(f"The mail server refused: {type(error).__name__}.") from None
    except ssl.SSLError:
        raise PortError("The mail server's certificate or encryption is not valid.") from None
    except TimeoutError:
        raise PortError(f"The mail server did not answer in {limits.SMTP_SECONDS:g} seconds.") from None
    except UnicodeError:
        raise PortError("The address or the login has characters that mail servers do not take.") from None
    except OSError:
        raise PortError("The mail server could not be reached.") from None
