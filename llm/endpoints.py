"""The configured model servers, and the lookup of a model by name."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings

from llm.catalog import ModelInfo, known_info
from llm.endpoint import Endpoint
from llm.errors import BadModelRequest
from llm.prices import read_price

OPENAI_URL = "https://api.openai.com/v1"
OPENAI_DEFAULT = "gpt-6.1-sol"
OPENAI_TITLE_DEFAULT = "gpt-6-luna"
ANTHROPIC_URL = "https://api.anthropic.com"
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
NO_KEY = "not-needed"  # the client requires a value
DIALECT_NAMES = ("chat", "anthropic", "responses")
FIELDS = {"name", "url", "key", "dialect", "models", "prices", "window", "vision"}


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
    """Return every endpoint of the settings, the default one first; raise BadModelRequest when there is none."""
    found = [*_openai_endpoint(), *_anthropic_endpoint(), *read_endpoints(settings.COPILOT_ENDPOINTS)]
    if not found:
        raise BadModelRequest(NOT_CONFIGURED)
    return found


def model_info(name: str) -> ModelInfo:
    """Return the abilities of a model: what its endpoint says, else what is known by its name."""
    known = known_info(name)
    try:
        endpoint = locate(name).endpoint
    except BadModelRequest:
        return known
    return ModelInfo(
        context_tokens=endpoint.window or known.context_tokens,
        sees_images=known.sees_images if endpoint.vision is None else endpoint.vision,
    )


def current_endpoint() -> Endpoint:
    """Return the default endpoint."""
    return endpoints()[0]


def configured_model() -> str:
    """Return COPILOT_MODEL, else the first or well-known model of the default endpoint, else "" (ask the server)."""
    return settings.COPILOT_MODEL or _own_model() or _usual_models()[0]


def configured_title_model() -> str:
    """Return COPILOT_TITLE_MODEL, else a small model of a known endpoint, else COPILOT_MODEL."""
    if settings.COPILOT_TITLE_MODEL or settings.COPILOT_MODEL:
        return str(settings.COPILOT_TITLE_MODEL or settings.COPILOT_MODEL)
    return _own_model() or _usual_models()[1]


def fallback_models() -> list[str]:
    """Return the models to ask, in this order, when the one that was asked keeps failing."""
    names = str(settings.COPILOT_FALLBACK_MODEL).split(",")
    return [name.strip() for name in names if name.strip()]


def _own_model() -> str:
    endpoint = current_endpoint()
    named = [model for model in endpoint.models if "*" not in model]
    return f"{endpoint.name}/{named[0]}" if named and endpoint.name else ""


def _usual_models() -> tuple[str, str]:
    return DEFAULTS_BY_HOST.get(current_endpoint().host, ("", ""))


# --- reading --------------------------------------------------------------------------------------


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
            base_url=_with_version(url or ANTHROPIC_URL),
            api_key=key or NO_KEY,
            dialect="anthropic",
            models=CLAUDE_MODELS if is_alone else (),
            key_setting="ANTHROPIC_API_KEY",
            url_setting="ANTHROPIC_BASE_URL",
        )
    ]


def _with_version(url: str) -> str:
    """Return the address with /v1, which users of Anthropic's own client leave out."""
    return f"{url.rstrip('/').removesuffix('/v1')}/v1"


@lru_cache(maxsize=8)
def read_endpoints(setting: str) -> tuple[Endpoint, ...]:
    """Read COPILOT_ENDPOINTS: a JSON list, or the path of a file that holds one; once per process.

    Raise BadModelRequest with what is wrong, never with a key.
    """
    if not setting.strip():
        return ()
    try:
        rows = json.loads(setting if setting.lstrip().startswith("[") else Path(setting).read_text())
    except OSError as error:
        raise _wrong(f"cannot be read ({error.strerror})") from None
    except ValueError:
        raise _wrong("is not JSON") from None
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise _wrong("is not a list of objects")
    found = tuple(_read_endpoint(row, number) for number, row in enumerate(rows, 1))
    if len({endpoint.name for endpoint in found}) < len(found):
        raise _wrong("has two endpoints of the same name")
    return found


def _read_endpoint(row: Mapping[str, Any], number: int) -> Endpoint:
    name, url, dialect = row.get("name"), row.get("url"), row.get("dialect", "chat")
    if not isinstance(name, str) or not name or "/" in name:
        raise _wrong(f"needs a name without / for endpoint {number}")
    if unknown := row.keys() - FIELDS:
        raise _wrong(f"has an unknown field in {name}: {min(unknown)}")
    if dialect not in DIALECT_NAMES:
        raise _wrong(f"needs one of {', '.join(DIALECT_NAMES)} as the dialect of {name}")
    url = url or (ANTHROPIC_URL if dialect == "anthropic" else OPENAI_URL)
    _check_address(str(url), f"The url of {name} in COPILOT_ENDPOINTS")
    try:
        return Endpoint(
            name=name,
            base_url=_with_version(url) if dialect == "anthropic" else url,
            api_key=str(row.get("key") or NO_KEY),
            dialect=dialect,
            models=tuple(str(model) for model in row.get("models", ())),
            prices=tuple(
                (model.lower(), read_price(price)) for model, price in row.get("prices", {}).items()
            ),
            window=None if row.get("window") is None else int(row["window"]),
            vision=None if row.get("vision") is None else bool(row["vision"]),
            key_setting=f"the key of {name} in COPILOT_ENDPOINTS",
            url_setting=f"the url of {name} in COPILOT_ENDPOINTS",
        )
    except (ValueError, TypeError, KeyError, AttributeError, ArithmeticError):
        raise _wrong(f"has a value in {name} that cannot be used") from None


def _wrong(what: str) -> BadModelRequest:
    return BadModelRequest(
        f"COPILOT_ENDPOINTS {what}. An operator should correct it; see docs/explanation/models.md."
    )


def _check_address(url: str, setting: str) -> None:
    if urlsplit(url).scheme not in ("http", "https"):
        raise BadModelRequest(
            f"{setting} is not an http:// or https:// address. An operator should correct it."
        )
