"""Which model server is asked, with which key, and which models it is asked for."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from django.conf import settings

from llm.errors import BadModelRequest

OPENAI_URL = "https://api.openai.com/v1"
OPENAI_DEFAULT = "gpt-6.1-sol"
OPENAI_TITLE_DEFAULT = "gpt-6-luna"
DEFAULTS_BY_HOST = {
    "api.openai.com": (OPENAI_DEFAULT, OPENAI_TITLE_DEFAULT),
    "openrouter.ai": (f"openai/{OPENAI_DEFAULT}", f"openai/{OPENAI_TITLE_DEFAULT}"),
}
NOT_CONFIGURED = (
    "No model is configured. Set OPENAI_API_KEY, or OPENAI_BASE_URL for any OpenAI-compatible server; "
    "`./copilot up` starts the built-in offline model when neither is set."
)


@dataclass(frozen=True, kw_only=True)
class Endpoint:
    """An OpenAI-compatible server; the key is never shown."""

    base_url: str
    api_key: str = field(repr=False)

    @property
    def host(self) -> str:
        return urlsplit(self.base_url).hostname or ""

    @property
    def is_openai(self) -> bool:
        return self.host == "api.openai.com"

    @property
    def is_local(self) -> bool:
        """On this machine or in its network: such a server costs nothing per token."""
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


def current_endpoint() -> Endpoint:
    """The endpoint of the settings; a server without a key gets a placeholder, because the client insists on one."""
    key, url = settings.OPENAI_API_KEY, settings.OPENAI_BASE_URL
    if not key and not url:
        raise BadModelRequest(NOT_CONFIGURED)
    if url and urlsplit(url).scheme not in ("http", "https"):
        raise BadModelRequest(
            "OPENAI_BASE_URL is not an http:// or https:// address. An operator should correct it."
        )
    return Endpoint(base_url=url or OPENAI_URL, api_key=key or "not-needed")


def configured_model() -> str:
    """COPILOT_MODEL, else the endpoint's well-known default, else "" (the server must be asked)."""
    return settings.COPILOT_MODEL or DEFAULTS_BY_HOST.get(current_endpoint().host, ("", ""))[0]


def configured_title_model() -> str:
    """COPILOT_TITLE_MODEL, else a small model of a known endpoint, else COPILOT_MODEL."""
    if settings.COPILOT_TITLE_MODEL or settings.COPILOT_MODEL:
        return settings.COPILOT_TITLE_MODEL or settings.COPILOT_MODEL
    return DEFAULTS_BY_HOST.get(current_endpoint().host, ("", ""))[1]


def fallback_model() -> str:
    return str(settings.COPILOT_FALLBACK_MODEL)
