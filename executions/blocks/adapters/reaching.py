"""Hosts that are reached without HTTP: mail servers and databases, held to the rules of `boundary`."""

from __future__ import annotations

import ssl
from dataclasses import dataclass, field, replace

import certifi

from boundary.destinations import Destination, bracketed
from boundary.errors import FetchError
from boundary.policy import Policy, policy_from_settings
from boundary.resolving import Resolver, SystemResolver
from boundary.urls import parse_url
from durable import limits
from executions.ports import PortError


@dataclass(frozen=True, kw_only=True)
class Reach:
    """How such hosts are found; tests hand in a policy of their own."""

    policy: Policy | None = None
    resolver: Resolver = field(default_factory=SystemResolver)

    def allows_plaintext(self, host: str, port: int) -> bool:
        """Whether the operator lets logins go there without TLS."""
        rules = self.policy or policy_from_settings()
        return Destination(host=host, port=port) in rules.plaintext

    def addresses(self, host: str, port: int) -> list[str]:
        """The host's addresses, every one of them public, to connect to as they are; raises PortError."""
        rules = replace(self.policy or policy_from_settings(), ports=frozenset({port}))
        try:
            target = parse_url(f"http://{bracketed(host)}:{port}/")
            rules.check_target(target)
            if target.address is not None:
                return [str(target.address)]
            found = self.resolver.resolve(target.host, target.port, limits.RESOLVE_SECONDS)
            for address in found:
                rules.check_address(target, address)
        except FetchError as error:
            raise PortError(f"The server cannot be used: {error}") from error
        return [str(address) for address in found]


def verifying_tls(ca_certificate: str) -> ssl.SSLContext:
    """Return a context that checks certificate and name: by that authority alone, or by the public ones.

    The public ones are those of `boundary.http`; the environment's SSL_CERT_FILE is not read.
    """
    if ca_certificate:
        return ssl.create_default_context(cadata=ca_certificate)
    return ssl.create_default_context(cafile=certifi.where())
