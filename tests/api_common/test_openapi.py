"""The API describes itself, without a warning, and its pages open."""

from __future__ import annotations

import re
from io import StringIO

import pytest
import yaml
from django.core.management import call_command
from django.test import Client


def test_the_schema_is_valid_and_made_without_a_warning() -> None:
    out = StringIO()
    call_command("spectacular", "--validate", "--fail-on-warn", stdout=out)
    schema = yaml.safe_load(out.getvalue())
    assert {"/api/me", "/api/keys", "/api/keys/{id}", "/api/usage", "/api/ws-ticket"} <= set(schema["paths"])
    assert {"apiKey", "cookieAuth"} <= set(schema["components"]["securitySchemes"])
    for methods in schema["paths"].values():
        for operation in methods.values():
            assert "default" in operation["responses"]


def test_the_schema_never_offers_a_keys_hash() -> None:
    out = StringIO()
    call_command("spectacular", stdout=out)
    schemas = yaml.safe_load(out.getvalue())["components"]["schemas"]
    assert "hash" not in schemas["Key"]["properties"]
    assert schemas["NewKey"]["properties"]["key"]["readOnly"]


@pytest.mark.django_db
@pytest.mark.parametrize("path", ["/api/schema/", "/api/docs/", "/api/docs/?script=", "/api/redoc/"])
def test_its_pages_open_and_load_nothing_from_elsewhere(client: Client, path: str) -> None:
    answer = client.get(path)
    assert answer.status_code == 200
    text = answer.content.decode()
    loaded = re.findall(r'<(?:script|link|img)[^>]*(?:src|href)="([^"]+)"', text)
    assert all(address.startswith("/") for address in loaded)
    if path in ("/api/docs/", "/api/redoc/"):
        assert "<style" not in text
        assert not re.search(r"<script>", text)
        assert loaded
        assert all(client.get(address).status_code == 200 for address in loaded)
