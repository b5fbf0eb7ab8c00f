"""Send mail over SMTP: to a public server, encrypted and with a login."""

from __future__ import annotations

import contextlib
import hashlib
import smtplib
import socket
import ssl
from collections.abc import Iterator
from email.message import EmailMessage
from email.utils import formatdate

from blocks import limits
from blocks.adapters.network import NetworkAccess, verifying_tls
from blocks.ports import Mail, PortError
from durable.database import outside_wait

IMPLICIT_TLS_PORT = 465


class SmtpMail:
    """Sends one message per connection, to the addresses that were resolved and checked."""

    def __init__(self, reach: NetworkAccess | None = None) -> None:
        self._reach = reach or NetworkAccess()

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
    """Open a connection encrypted from the start on port 465 and by STARTTLS on others; close it at the end.

    Without `tls`, which only the operator can allow, the connection is not encrypted.
    """
    if tls is not None and mail.port == IMPLICIT_TLS_PORT:
        server: smtplib.SMTP = PinnedTlsSmtp(addresses, tls)
    else:
        server = PinnedSmtp(addresses)
    with server:
        server.connect(mail.server, mail.port)
        # smtplib sets the TLS host name only in its constructor, which would also connect.
        server._host = mail.server  # type: ignore[attr-defined]
        if tls is not None and mail.port != IMPLICIT_TLS_PORT:
            server.starttls(context=tls)  # raises if the server does not support it
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
    """Connects to the checked addresses, whatever the name resolves to now."""

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
    """Return the plain-text message; its Message-ID is derived from the key and so the same in a second attempt."""
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
        raise PortError(f"The message is not valid: {error}.") from None
    return message


@contextlib.contextmanager
def explain(mail: Mail) -> Iterator[None]:
    """Raise PortError with a specific message for each kind of failure."""
    try:
        yield
    except smtplib.SMTPAuthenticationError:
        raise PortError("The mail server rejected the login. Check the user name and password.") from None
    except smtplib.SMTPRecipientsRefused:
        raise PortError(f"The mail server rejected the recipient {mail.to}.") from None
    except smtplib.SMTPSenderRefused:
        raise PortError(f"The mail server rejected the sender {mail.sender}.") from None
    except smtplib.SMTPDataError as error:
        raise PortError(f"The mail server rejected the message ({error.smtp_code}).") from None
    except smtplib.SMTPNotSupportedError:
        raise PortError(
            "The mail server does not support encryption or login, so nothing was sent."
        ) from None
    except (smtplib.SMTPServerDisconnected, smtplib.SMTPConnectError, smtplib.SMTPHeloError):
        raise PortError("The mail server closed the connection.") from None
    except smtplib.SMTPException as error:
        raise PortError(f"The mail server returned an error: {type(error).__name__}.") from None
    except ssl.SSLError:
        raise PortError("The mail server's certificate or encryption is not valid.") from None
    except TimeoutError:
        raise PortError(f"The mail server did not respond within {limits.SMTP_SECONDS:g} seconds.") from None
    except UnicodeError:
        raise PortError(
            "The address or the login contains characters that mail servers do not accept."
        ) from None
    except OSError:
        raise PortError("The mail server could not be reached.") from None
