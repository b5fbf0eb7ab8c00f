"""Hosts that are reached without HTTP: mail servers and databases, held to the rules of `boundary`."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

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

    def addresses(self, host: str, port: int) -> list[str]:
        """The host's addresses, every one of them public, to connect to as they are; raises PortError."""
        rules = replace(self.policy or policy_from_settings(), ports=frozenset({port}))
        try:
            target = parse_url(f"http://{host}:{port}/")
            rules.check_target(target)
            if target.address is not None:
                return [str(target.address)]
            found = self.resolver.resolve(target.host, target.port, limits.RESOLVE_SECONDS)
            for address in found:
                rules.check_address(target, address)
        except FetchError as error:
            raise PortError(f"The server cannot be used: {error}") from error
        return [str(address) for address in found]
