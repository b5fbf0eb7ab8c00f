"""The written form of an endpoint: an object of COPILOT_ENDPOINTS, or the same fields of a row in the admin."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from llm.endpoint import Endpoint
from llm.errors import BadModelRequest
from llm.prices import read_price

OPENAI_URL = "https://api.openai.com/v1"
ANTHROPIC_URL = "https://api.anthropic.com"
NO_KEY = "not-needed"  # the client insists on one
DIALECT_NAMES = ("chat", "anthropic", "responses")
EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
FIELDS = {"name", "url", "key", "dialect", "models", "prices", "window", "vision", "effort", "groups"}
SETTING = "COPILOT_ENDPOINTS"


class BadEndpoint(ValueError):
    """An endpoint that cannot be used; the text says why, never with a key."""


@lru_cache(maxsize=8)
def read_endpoints(setting: str) -> tuple[Endpoint, ...]:
    """Read COPILOT_ENDPOINTS: a JSON list, or the path of a file that holds one; once per process.

    Raise BadModelRequest with what is wrong, never with a key.
    """
    if not setting.strip():
        return ()
    try:
        return _read_list(setting)
    except BadEndpoint as error:
        raise BadModelRequest(
            f"{SETTING} {error}. An operator should correct it; see docs/explanation/models.md."
        ) from None


def _read_list(setting: str) -> tuple[Endpoint, ...]:
    try:
        rows = json.loads(setting if setting.lstrip().startswith("[") else Path(setting).read_text())
    except OSError as error:
        raise BadEndpoint(f"cannot be read ({error.strerror})") from None
    except ValueError:
        raise BadEndpoint("is not JSON") from None
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise BadEndpoint("is not a list of objects")
    found = tuple(read_endpoint(row) for row in rows)
    if len({endpoint.name for endpoint in found}) < len(found):
        raise BadEndpoint("has two endpoints of the same name")
    return found


def read_endpoint(row: Mapping[str, Any], source: str = SETTING) -> Endpoint:
    """Return the endpoint that an object describes; raise BadEndpoint."""
    name, url, dialect = row.get("name"), row.get("url"), row.get("dialect", "chat")
    if not isinstance(name, str) or not name or "/" in name:
        raise BadEndpoint("needs a name without / for each endpoint")
    if unknown := row.keys() - FIELDS:
        raise BadEndpoint(f"has an unknown field in {name}: {min(unknown)}")
    if dialect not in DIALECT_NAMES:
        raise BadEndpoint(f"needs one of {', '.join(DIALECT_NAMES)} as the dialect of {name}")
    if (effort := row.get("effort") or "") not in ("", *EFFORTS):
        raise BadEndpoint(f"needs one of {', '.join(EFFORTS)} as the effort of {name}")
    url = str(url or (ANTHROPIC_URL if dialect == "anthropic" else OPENAI_URL))
    if not is_address(url):
        raise BadEndpoint(f"needs an http:// or https:// address as the url of {name}")
    try:
        return Endpoint(
            name=name,
            base_url=with_version(url) if dialect == "anthropic" else url,
            api_key=str(row.get("key") or NO_KEY),
            dialect=dialect,
            models=_texts(row.get("models")),
            prices=tuple(
                (model.lower(), read_price(price)) for model, price in (row.get("prices") or {}).items()
            ),
            window=None if row.get("window") is None else int(row["window"]),
            vision=None if row.get("vision") is None else bool(row["vision"]),
            effort=effort,
            groups=_texts(row.get("groups")),
            key_setting=f"the key of {name} in {source}",
            url_setting=f"the url of {name} in {source}",
        )
    except (ValueError, TypeError, KeyError, AttributeError, ArithmeticError):
        raise BadEndpoint(f"has a value in {name} that cannot be used") from None


def _texts(values: Iterable[Any] | None) -> tuple[str, ...]:
    if isinstance(values, str):
        raise TypeError("a list is needed")
    return tuple(str(value) for value in values or ())


def is_address(url: str) -> bool:
    """Return whether the text is the address of a web server."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname)


def with_version(url: str) -> str:
    """Return the address with /v1, which users of Anthropic's own client leave out."""
    return f"{url.rstrip('/').removesuffix('/v1')}/v1"
