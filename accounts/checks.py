"""System checks of the account settings."""

from __future__ import annotations

from ipaddress import ip_network
from typing import Any

from django.conf import settings
from django.core.checks import Error, register


@register
def trusted_proxies_are_networks(**kwargs: Any) -> list[Error]:
    """Report malformed proxies at start-up instead of at the first login."""
    return [
        Error(
            f"COPILOT_TRUSTED_PROXIES has {text!r}, which is neither an address nor a network.",
            hint="Write it like 10.0.0.1 or 10.0.0.0/8, several separated by commas.",
            id="accounts.E001",
        )
        for text in settings.COPILOT_TRUSTED_PROXIES
        if not is_network(text)
    ]


def is_network(text: str) -> bool:
    try:
        ip_network(text, strict=False)
    except ValueError:
        return False
    return True
