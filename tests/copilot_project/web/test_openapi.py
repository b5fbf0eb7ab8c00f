"""The API describes itself, without a warning, and its pages open."""

from __future__ import annotations

import re
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from io import StringIO
from typing import Any

import pytest
import yaml
from django.core.management import call_command
from django.test import Client
from drf_spectacular.generators import SchemaGenerator

from copilot_project.web.openapi_page import documents


def test_the_schema_is_valid_and_made_without_a_warning() -> None:
    out = StringIO()
    call_command("spectacular", "--validate", "--fail-on-warn", stdout=out)
    schema = yaml.safe_load(out.getvalue())
    assert {"/api/me", "/api/keys", "/api/keys/{id}", "/api/usage", "/api/ws-ticket"} <= set(schema["paths"])
    assert {"apiKey", "cookieAuth"} <= set(schema["components"]["securitySchemes"])
    for methods in schema["paths"].values():
        for operation in methods.values():
            assert "default" in operation["responses"]


def test_every_operation_has_a_short_summary_of_its_own_and_a_described_tag() -> None:
    out = StringIO()
    call_command("spectacular", stdout=out)
    schema = yaml.safe_load(out.getvalue())
    operations = [operation for methods in schema["paths"].values() for operation in methods.values()]
    described = {tag["name"] for tag in schema["tags"] if tag["description"].strip()}
    summaries = Counter(operation.get("summary", "") for operation in operations)
    for operation in operations:
        summary = operation.get("summary", "")
        assert re.fullmatch(r"[A-Z][\w' -]{3,60}", summary), (operation["operationId"], summary)
        assert summaries[summary] == 1, f"Two operations are summed up as {summary!r}"
        assert operation["description"].strip(), operation["operationId"]
        assert operation["tags"] and set(operation["tags"]) <= described, operation["operationId"]
    assert described == {tag for operation in operations for tag in operation["tags"]}


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


@pytest.fixture
def builds(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """One entry for each time the document is built, from a process that has built none."""
    built: list[object] = []
    build = SchemaGenerator.get_schema

    def counted(self: SchemaGenerator, **given: Any) -> Any:
        built.append(given)
        return build(self, **given)  # type: ignore[no-untyped-call]

    monkeypatch.setattr(documents(), "_by_media_type", {})
    monkeypatch.setattr(SchemaGenerator, "get_schema", counted)
    return built


@pytest.mark.django_db
def test_the_schema_is_built_once_for_all_who_ask(client: Client, builds: list[object]) -> None:
    answers = [client.get("/api/schema/", {"lang": str(number)}) for number in range(20)]
    assert {answer.status_code for answer in answers} == {200}
    assert len({answer.content for answer in answers}) == 1
    assert len(builds) == 1
    as_json = [client.get("/api/schema/?format=json") for _ in range(3)]
    assert as_json[0]["Content-Type"].startswith("application/vnd.oai.openapi+json")
    assert as_json[0].json()["paths"].keys() == yaml.safe_load(answers[0].content)["paths"].keys()
    assert len(builds) == 2


@pytest.mark.django_db
def test_who_has_the_schema_does_not_get_it_again(client: Client) -> None:
    etag = client.get("/api/schema/")["ETag"]
    again = client.get("/api/schema/", headers={"If-None-Match": etag})
    assert (again.status_code, again.content) == (304, b"")


@pytest.mark.django_db(transaction=True)
def test_many_who_ask_for_the_schema_at_once_share_one_build(builds: list[object]) -> None:
    with ThreadPoolExecutor(20) as threads:
        answers = list(threads.map(lambda _: Client().get("/api/schema/"), range(20)))
    assert {answer.status_code for answer in answers} == {200}
    assert len(builds) == 1
