"""Schemas of tool results: every type is there, and what tools really answer fits them."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest

from tests.tools.conftest import Bench
from tools.result_schemas import REFERENCE, UNION, as_openapi, catalog, result_schemas, results_of


def union_types() -> set[str]:
    schemas = result_schemas()
    members = [schemas[item["$ref"].removeprefix(REFERENCE)] for item in schemas[UNION]["oneOf"]]
    return {name for member in members for name in member["properties"]["type"]["enum"]}


def test_every_type_of_result_is_in_the_union() -> None:
    expected = {kind.model_fields["type"].default for tool in catalog() for kind in results_of(tool)}
    assert expected <= union_types() and {"error", "no_results", "operation_started"} <= union_types()


def test_references_lead_somewhere() -> None:
    schemas = result_schemas()

    def references(value: Any) -> list[str]:
        if isinstance(value, list):
            return [found for item in value for found in references(item)]
        if not isinstance(value, dict):
            return []
        own = [value["$ref"]] if "$ref" in value else []
        return own + [found for item in value.values() for found in references(item)]

    assert {name.removeprefix(REFERENCE) for name in references(schemas)} <= set(schemas)


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        ({"const": "x", "title": "T"}, {"enum": ["x"]}),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, {"type": "string", "nullable": True}),
        ({"anyOf": [{"$ref": "#/a"}, {"type": "null"}]}, {"allOf": [{"$ref": "#/a"}], "nullable": True}),
        ({"properties": {"title": {"type": "string"}}}, {"properties": {"title": {"type": "string"}}}),
    ],
)
def test_a_schema_is_said_in_the_words_of_openapi(schema: Any, said: Any) -> None:
    assert as_openapi(schema) == said


def test_real_results_fit_their_schema(bench: Bench) -> None:
    schemas = result_schemas()
    validator = jsonschema.Draft7Validator({"components": {"schemas": schemas}, **schemas[UNION]})
    answers = [
        bench.run_one("write_workspace_file", id="w", filename="a.txt", content="x"),
        bench.run_one("list_workspace_files", id="l"),
        bench.run_one("find_agent", id="f", query="nothing like it"),
        bench.run_one("no_such_tool", id="n"),
    ]
    for answer in answers:
        output = {name: value for name, value in answer.output.items() if value is not None}
        assert not list(validator.iter_errors(output)), output
    assert list(validator.iter_errors({"type": "workspace_file_written", "message": "no file"}))
