"""The server a credential is bound to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from cryptography import x509

from boundary.policy import HTTPS_PORT, Destination
from executions.credentials.errors import BadCredential
from executions.credentials.hosts import normalise_host, normalise_server
from executions.credentials.secrets import Kind
from executions.models import StoredCredential

LOGIN_PORTS: Mapping[str, int] = {"database": 5432, "smtp": 587}  # defaults by provider


@dataclass(frozen=True, kw_only=True)
class Binding:
    """Where a credential may be sent; without a host, to no server that a block names."""

    host: str = ""
    port: int | None = None
    ca_certificate: str = ""


def check_binding(kind: str, provider: str, wanted: Binding) -> Binding:
    """Return the binding normalised, its port filled in; raise BadCredential for one that does not fit the kind."""
    if kind == Kind.USER_PASSWORD:
        return check_login(provider, wanted)
    if wanted.ca_certificate:
        raise BadCredential("Only a login can have its own CA certificate.")
    if wanted.host:
        return Binding(host=normalise_host(wanted.host), port=wanted.port or HTTPS_PORT)
    if kind == Kind.HOST_SCOPED:
        raise BadCredential("Headers are only sent to one host. Enter it as `host`, such as api.example.com.")
    if wanted.port:
        raise BadCredential("A port requires a host. Enter it as `host`, such as api.example.com.")
    return Binding()


def check_login(provider: str, wanted: Binding) -> Binding:
    if not wanted.host:
        raise BadCredential(
            "A login is only sent to one server. Enter it as `host`, such as mail.example.com, "
            "and its `port` unless it is the default one."
        )
    port = wanted.port or LOGIN_PORTS.get(provider)
    if port is None:
        raise BadCredential(f"Enter the port of {wanted.host[:100]} as `port`.")
    server = normalise_server(wanted.host, port)
    check_certificate(wanted.ca_certificate)
    return Binding(host=server.host, port=server.port, ca_certificate=wanted.ca_certificate)


def check_certificate(text: str) -> None:
    if not text:
        return
    try:
        x509.load_pem_x509_certificates(text.encode())
    except (ValueError, UnicodeError):
        raise BadCredential(
            "`ca_certificate` is not a certificate. Paste PEM text that begins with -----BEGIN CERTIFICATE-----."
        ) from None


def binding_of(credential: StoredCredential) -> Binding:
    return Binding(host=credential.host, port=credential.port, ca_certificate=credential.ca_certificate)


def bind_once(user_id: int, credentials_id: str, destination: Destination) -> bool:
    """Bind an unbound credential to that server; return False when it is bound already, or not the user's."""
    unbound = StoredCredential.objects.filter(user_id=user_id, pk=credentials_id, host="")
    return bool(unbound.update(host=destination.host, port=destination.port))
