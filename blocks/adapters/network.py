"""Network access without HTTP, for mail servers and databases, under the rules of `boundary`."""

from __future__ import annotations

import ssl
from dataclasses import dataclass, field, replace

import certifi

from blocks.ports import PortError
from boundary import limits
from boundary.addresses import Resolver, SystemResolver
from boundary.errors import FetchError
from boundary.policy import Destination, NetworkPolicy, bracketed, policy_from_settings
from boundary.urls import parse_url


@dataclass(frozen=True, kw_only=True)
class NetworkAccess:
    """Resolves and checks hosts; tests pass their own policy."""

    policy: NetworkPolicy | None = None
    resolver: Resolver = field(default_factory=SystemResolver)

    def allows_plaintext(self, host: str, port: int) -> bool:
        """Return whether the operator allows logins to that server without TLS."""
        rules = self.policy or policy_from_settings()
        return Destination(host=host, port=port) in rules.plaintext

    def addresses(self, host: str, port: int) -> list[str]:
        """Return the host's addresses, all of them checked; raise PortError."""
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
    """Return a context that verifies certificate and host name with the given authority, else the public ones.

    The public authorities are those of `boundary.http`; the SSL_CERT_FILE variable is ignored.
    """
    if ca_certificate:
        return ssl.create_default_context(cadata=ca_certificate)
    return ssl.create_default_context(cafile=certifi.where())
