"""The configured model servers, and the lookup of a model by name."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import urlsplit

from django.conf import settings

from llm.catalog import ModelInfo, known_info
from llm.endpoint import Endpoint
from llm.endpoint_format import ANTHROPIC_URL, NO_KEY, OPENAI_URL, is_address, read_endpoints, with_version
from llm.endpoint_rows import known_rows
from llm.errors import BadModelRequest

OPENAI_DEFAULT = "gpt-6.1-sol"
OPENAI_TITLE_DEFAULT = "gpt-6-luna"
DEFAULTS_BY_HOST = {
    "api.anthropic.com": ("claude-sonnet-5-5", "claude-haiku-5-5"),
    "api.openai.com": (OPENAI_DEFAULT, OPENAI_TITLE_DEFAULT),
    "openrouter.ai": (f"openai/{OPENAI_DEFAULT}", f"openai/{OPENAI_TITLE_DEFAULT}"),
}
CLAUDE_MODELS = ("claude-*",)
NOT_CONFIGURED = (
    "No model is configured. Set OPENAI_API_KEY, OPENAI_BASE_URL for any OpenAI-compatible server, or "
    "ANTHROPIC_API_KEY; `./copilot up` starts the built-in offline model when none of them is set."
)


@dataclass(frozen=True, kw_only=True)
class ModelAddress:
    """A model at an endpoint; `model` is its name there."""

    endpoint: Endpoint
    model: str


def locate(name: str) -> ModelAddress:
    """Return the model that a name means: `endpoint/model`, else a model that an endpoint is known to have, else one of
    the default endpoint. Raise BadModelRequest when there is no endpoint."""
    known = endpoints()
    first, _, rest = name.partition("/")
    for endpoint in known:
        if rest and endpoint.name == first:
            return ModelAddress(endpoint=endpoint, model=rest)
    serving = [endpoint for endpoint in known if endpoint.serves(name)]
    return ModelAddress(endpoint=(serving or known)[0], model=name)


def endpoints() -> list[Endpoint]:
    """Return every endpoint, those of the settings before those of the admin and the default one first.

    Raise BadModelRequest when there is none. Where both have one of the same name, the one of the settings is taken.
    """
    found = [*_openai_endpoint(), *_anthropic_endpoint(), *read_endpoints(settings.COPILOT_ENDPOINTS)]
    taken = {endpoint.name for endpoint in found}
    found += [endpoint for endpoint in known_rows().endpoints if endpoint.name not in taken]
    if not found:
        raise BadModelRequest(NOT_CONFIGURED)
    return found


def shadowed_names() -> list[str]:
    """Return the names of endpoints in the admin that are not used because COPILOT_ENDPOINTS has them too."""
    taken = {endpoint.name for endpoint in read_endpoints(settings.COPILOT_ENDPOINTS)}
    return [endpoint.name for endpoint in known_rows().endpoints if endpoint.name in taken]


def row_problems() -> list[str]:
    """Return a sentence for each endpoint of the admin that is not used although it is enabled."""
    shadowed = [
        f"The endpoint {name} in the admin is not used: COPILOT_ENDPOINTS has one of the same name, which wins."
        for name in shadowed_names()
    ]
    return [*known_rows().problems, *shadowed]


def model_info(name: str) -> ModelInfo:
    """Return the abilities of a model: what its endpoint says, else what is known by its name."""
    try:
        at = locate(name)
    except BadModelRequest:
        return known_info(name)
    endpoint, known = at.endpoint, known_info(at.model)
    return ModelInfo(
        context_tokens=endpoint.window or known.context_tokens,
        sees_images=known.sees_images if endpoint.vision is None else endpoint.vision,
    )


def current_endpoint() -> Endpoint:
    """Return the default endpoint."""
    return endpoints()[0]


def configured_model() -> str:
    """Return COPILOT_MODEL, else the model of the admin's default endpoint, else the first or well-known model of the
    first endpoint, else "" (ask the server)."""
    return str(settings.COPILOT_MODEL or _default_row_model() or _first_endpoints_models()[0])


def configured_title_model() -> str:
    """Return COPILOT_TITLE_MODEL, else a small model of a known endpoint, else COPILOT_MODEL."""
    if settings.COPILOT_TITLE_MODEL or settings.COPILOT_MODEL:
        return str(settings.COPILOT_TITLE_MODEL or settings.COPILOT_MODEL)
    return _default_row_model() or _first_endpoints_models()[1]


def fallback_models() -> list[str]:
    """Return the models to ask, in this order, when the one that was asked keeps failing."""
    names = str(settings.COPILOT_FALLBACK_MODEL).split(",")
    return [name.strip() for name in names if name.strip()]


def common_fallbacks() -> list[str]:
    """Return those of the fallback models that everybody may use."""
    return [name for name in fallback_models() if locate(name).endpoint.may_be_used_by(())]


def own_model(endpoint: Endpoint) -> str:
    """Return the first model that an endpoint is known to have, by its full name, or ""."""
    named = [model for model in endpoint.models if "*" not in model]
    return endpoint.full_name(named[0]) if named and endpoint.name else ""


def usual_models(endpoint: Endpoint) -> tuple[str, str]:
    """Return the usual model of a well-known server and its small one, or empty names."""
    return DEFAULTS_BY_HOST.get(endpoint.host, ("", ""))


def _first_endpoints_models() -> tuple[str, str]:
    first = current_endpoint()
    own = own_model(first)
    return (own, own) if own else usual_models(first)


def _default_row_model() -> str:
    rows = known_rows()
    found = [endpoint for endpoint in endpoints() if rows.default and endpoint.name == rows.default]
    return own_model(found[0]) if found else ""


# --- of the settings --------------------------------------------------------------------------------------


def _openai_endpoint() -> list[Endpoint]:
    key, url = settings.OPENAI_API_KEY, settings.OPENAI_BASE_URL
    if not key and not url:
        return []
    _check_address(url or OPENAI_URL, "OPENAI_BASE_URL")
    return [Endpoint(base_url=url or OPENAI_URL, api_key=key or NO_KEY, dialect=settings.OPENAI_DIALECT)]


def _anthropic_endpoint() -> list[Endpoint]:
    """Return Anthropic's endpoint, which has its models unless the other one is a server that may have them too."""
    key, url = settings.ANTHROPIC_API_KEY, settings.ANTHROPIC_BASE_URL
    if not key and not url:
        return []
    _check_address(url or ANTHROPIC_URL, "ANTHROPIC_BASE_URL")
    is_alone = urlsplit(settings.OPENAI_BASE_URL or OPENAI_URL).hostname == urlsplit(OPENAI_URL).hostname
    return [
        Endpoint(
            base_url=with_version(url or ANTHROPIC_URL),
            api_key=key or NO_KEY,
            dialect="anthropic",
            models=CLAUDE_MODELS if is_alone else (),
            key_setting="ANTHROPIC_API_KEY",
            url_setting="ANTHROPIC_BASE_URL",
        )
    ]


@lru_cache(maxsize=8)  # of an address that is right; endpoints() is called many times for each message
def _check_address(url: str, setting: str) -> None:
    if not is_address(url):
        raise BadModelRequest(
            f"{setting} is not an http:// or https:// address. An operator should correct it."
        )
