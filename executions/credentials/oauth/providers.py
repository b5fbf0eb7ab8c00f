"""The OAuth2 providers the operator configured: COPILOT_OAUTH_PROVIDERS, one JSON object by name."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Annotated, Literal

from django.conf import settings
from django.core.checks import CheckMessage, Error
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SecretStr,
    StringConstraints,
    TypeAdapter,
    ValidationError,
)

from executions.credentials.errors import NoSuchProvider
from executions.credentials.oauth.presets import with_presets

Name = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9_-]{0,63}$")]
Address = Annotated[str, StringConstraints(pattern=r"^https?://[^\s]+$", max_length=2_000)]


class OAuthProvider(BaseModel):
    """A provider's endpoints, and the client this site is registered as there."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    title: str = ""
    authorize_url: Address
    token_url: Address
    client_id: str = Field(min_length=1)
    client_secret: SecretStr = SecretStr("")
    client_auth: Literal["body", "basic"] = "body"  # where the token endpoint expects the secret
    scopes: tuple[str, ...] = ()
    scope_separator: str = " "
    host: str = ""  # where the token may be sent; without one, blocks name the credential
    authorize_params: Mapping[str, str] = Field(default_factory=dict)  # such as access_type=offline


PROVIDERS: TypeAdapter[dict[str, OAuthProvider]] = TypeAdapter(
    Annotated[dict[Name, OAuthProvider], BeforeValidator(with_presets)]
)


def configured() -> Mapping[str, OAuthProvider]:
    """Return the providers by name; raises ValueError when the variable is not valid."""
    return _parse(settings.COPILOT_OAUTH_PROVIDERS)


@lru_cache(maxsize=4)
def _parse(text: str) -> Mapping[str, OAuthProvider]:
    return PROVIDERS.validate_json(text) if text else {}


def provider_named(name: str) -> OAuthProvider:
    """Return the provider of that name; raises NoSuchProvider."""
    found = configured().get(name)
    if found is None:
        raise NoSuchProvider
    return found


def check_providers(**kwargs: object) -> list[CheckMessage]:
    """Check COPILOT_OAUTH_PROVIDERS. Messages name the field and never its value, which may be a secret."""
    try:
        configured()
    except ValidationError as error:
        places = [
            f"{'.'.join(map(str, problem['loc'])) or 'value'}: {problem['msg']}"
            for problem in error.errors(include_input=False, include_url=False)
        ]
        hint = "See docs/how-to/sign-in-with-oauth.md for the format."
        return [Error(f"COPILOT_OAUTH_PROVIDERS: {'; '.join(places)}", hint=hint, id="executions.E010")]
    return []
