"""A model server: its address, key, dialect and known models."""

from __future__ import annotations

import fnmatch
import hashlib
import ipaddress
from collections.abc import Collection
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from llm.prices import Price


@dataclass(frozen=True, kw_only=True)
class Endpoint:
    """A model server and the dialect it speaks; the key is never shown."""

    base_url: str
    api_key: str = field(repr=False)
    dialect: str = "chat"
    name: str = ""  # the prefix for models of this endpoint: `name/model`
    models: tuple[str, ...] = ()  # served by this endpoint if none is named; may end in `*`
    prices: tuple[tuple[str, Price], ...] = ()
    window: int | None = None
    vision: bool | None = None
    effort: str = ""  # of reasoning; empty leaves it to the model
    groups: tuple[str, ...] = ()  # whose members may use it; empty means everybody
    key_setting: str = "OPENAI_API_KEY"  # the setting to check when the key is refused
    url_setting: str = "OPENAI_BASE_URL"

    def serves(self, model: str) -> bool:
        """Return whether the model is one of those that it is known to have."""
        return any(fnmatch.fnmatchcase(model.lower(), known.lower()) for known in self.models)

    @property
    def has_patterns(self) -> bool:
        """Whether some of its models are named by a pattern."""
        return any("*" in known for known in self.models)

    def may_be_used_by(self, groups: Collection[str]) -> bool:
        """Return whether members of these groups may use it."""
        return not self.groups or not set(self.groups).isdisjoint(groups)

    def full_name(self, model: str) -> str:
        """Return the name by which that model of this endpoint is found everywhere."""
        return f"{self.name}/{model}" if self.name else model

    @property
    def label(self) -> str:
        """Return what operators know it by."""
        return self.name or self.shown_url

    @property
    def shown_url(self) -> str:
        """Return the address without what may be secret in it."""
        parts = urlsplit(self.base_url)
        return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="").geturl()

    @property
    def host(self) -> str:
        return urlsplit(self.base_url).hostname or ""

    @property
    def is_openai(self) -> bool:
        return self.host == "api.openai.com"

    @property
    def is_local(self) -> bool:
        """Whether it is on this machine or in its network, and so costs nothing per token."""
        if self.host == "localhost" or self.host.endswith((".local", ".internal")) or "." not in self.host:
            return True
        try:
            address = ipaddress.ip_address(self.host)
        except ValueError:
            return False
        return address.is_private or address.is_loopback

    @property
    def is_loopback(self) -> bool:
        return self.host in ("localhost", "::1") or self.host.startswith("127.")


def origin_of(endpoint: Endpoint, model: str) -> str:
    """Return the name of a model at an endpoint, as a digest: an address may hold a password."""
    name = f"{endpoint.base_url.rstrip('/')}\n{model}"
    if endpoint.dialect != "chat":  # in another dialect the same server returns its data in another form
        name += f"\n{endpoint.dialect}"
    return hashlib.sha256(name.encode()).hexdigest()[:32]
