"""OpenAPI descriptions of the authentication methods."""

from __future__ import annotations

from typing import Any

from drf_spectacular.authentication import SessionScheme
from drf_spectacular.extensions import OpenApiAuthenticationExtension


class ApiKeyScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """`Authorization: Bearer rk_…`."""

    target_class = "accounts.api.authentication.ApiKeyAuthentication"
    name = "apiKey"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        return {"type": "http", "scheme": "bearer", "description": "An API key: `Authorization: Bearer rk_…`"}


class CookieScheme(SessionScheme):  # type: ignore[no-untyped-call]
    """The session cookie; requests that change something also need X-CSRFToken."""

    target_class = "accounts.api.authentication.CookieAuthentication"
