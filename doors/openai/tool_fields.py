"""The tools of a request, their choice and the format of the answer, for both protocols."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from doors.openai import fields, limits
from doors.openai.errors import UnusableRequest
from doors.openai.fields import NOT_SUPPORTED, Body
from llm.types import ToolSpec

NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
NO_PARAMETERS: dict[str, Any] = {"type": "object", "properties": {}}
MODES = ("auto", "none", "required")


def tools(body: Body, *, nested: bool) -> tuple[ToolSpec, ...]:
    """Return the client's functions; `nested` is the form of chat completions. Other kinds of tools are refused."""
    listed = body.get("tools")
    if listed is None:
        return ()
    found = [
        _function(fields.mapping(tool, "tools"), index, nested=nested)
        for index, tool in enumerate(fields.items(listed, "tools", most=limits.MAX_CLIENT_TOOLS))
    ]
    names = [tool.name for tool in found]
    if len(set(names)) < len(names):
        raise UnusableRequest("Two tools have the same name.", param="tools")
    if sum(len(tool.description) + len(json.dumps(tool.parameters)) for tool in found) > (
        limits.MAX_CLIENT_TOOL_CHARACTERS
    ):
        raise UnusableRequest("The definitions of the tools are too long.", param="tools")
    return tuple(found)


def _function(tool: Mapping[str, Any], index: int, *, nested: bool) -> ToolSpec:
    where = f"tools[{index}]"
    if tool.get("type") != "function":
        raise UnusableRequest(
            f"`{where}`: only functions can be added. The copilot's own tools need not be named.",
            param=where,
            code=NOT_SUPPORTED,
        )
    function = fields.mapping(tool.get("function"), f"{where}.function") if nested else tool
    name = fields.text(function, "name")
    if not NAME.fullmatch(name):
        raise UnusableRequest(f"`{where}`: a name has 1 to 64 letters, digits, _ and -.", param=where)
    parameters = function.get("parameters")
    return ToolSpec(
        name=name,
        description=fields.text(function, "description"),
        parameters=NO_PARAMETERS
        if parameters is None
        else dict(fields.mapping(parameters, f"{where}.parameters")),
    )


def tool_choice(body: Body, known: Sequence[ToolSpec]) -> str | dict[str, Any] | None:
    """Return the choice in the form of chat completions; raise UnusableRequest for one that cannot be kept."""
    choice = body.get("tool_choice")
    if choice is None or choice in MODES:
        return choice
    if not isinstance(choice, Mapping) or choice.get("type") != "function":
        raise UnusableRequest(
            "`tool_choice` must be auto, none, required, or name a function.",
            param="tool_choice",
            code=NOT_SUPPORTED,
        )
    inner = choice.get("function")
    name = (inner if isinstance(inner, Mapping) else choice).get("name")
    if name not in {tool.name for tool in known}:
        raise UnusableRequest(
            "`tool_choice` names a function that is not among `tools`.", param="tool_choice"
        )
    return {"type": "function", "function": {"name": name}}


def response_format(value: object, where: str) -> dict[str, Any] | None:
    """Return the format of the answer in the form of chat completions; None for plain text.

    `value` may be in either protocol's form.
    """
    if value is None:
        return None
    wanted = fields.mapping(value, where)
    match wanted.get("type"):
        case "text":
            return None
        case "json_object":
            return {"type": "json_object"}
        case "json_schema":
            inner = wanted.get("json_schema", wanted)
            found = {
                name: inner[name]
                for name in ("name", "schema", "strict", "description")
                if isinstance(inner, Mapping) and inner.get(name) is not None
            }
            if not isinstance(found.get("name"), str) or not isinstance(found.get("schema"), Mapping):
                raise UnusableRequest(f"`{where}` needs a `name` and a `schema`.", param=where)
            return {"type": "json_schema", "json_schema": found}
        case _:
            raise UnusableRequest(f"`{where}.type` must be text, json_object or json_schema.", param=where)
