"""Parse and validate the arguments that a model wrote."""

from __future__ import annotations

import json
import re
from typing import Any, NoReturn

from pydantic import ValidationError

from durable import storable
from tools import limits
from tools.base import Tool, ToolArgs
from tools.errors import ModelRetry

STRINGS = re.compile(r'"(?:[^"\\]|\\.)*+"?', re.DOTALL)
BRACKETS = re.compile(r"[\[\]{}]")


class InvalidArguments(ModelRetry):
    """The arguments do not match the tool's schema."""

    code = "invalid_arguments"
    next_step = "Correct the arguments and try again."


def parse(text: str) -> dict[str, Any]:
    """Return the arguments as an object; raises InvalidArguments if they are too large, too deep, or not JSON."""
    if len(text) > limits.MAX_TOOL_ARGUMENT_CHARACTERS:
        raise InvalidArguments(
            f"The arguments have {len(text):,} characters; at most {limits.MAX_TOOL_ARGUMENT_CHARACTERS:,} are "
            "allowed.",
            next_step="Write large content to a workspace file in pieces and refer to it.",
        )
    if not text.strip():
        return {}
    if _depth(text) > limits.MAX_TOOL_ARGUMENT_DEPTH:
        raise InvalidArguments(
            f"The arguments are nested more than {limits.MAX_TOOL_ARGUMENT_DEPTH} levels deep."
        )
    try:
        value = json.loads(text, parse_constant=_refuse_constant)
    except ValueError as error:
        where = f" ({error.msg} at character {error.pos})" if isinstance(error, json.JSONDecodeError) else ""
        raise InvalidArguments(
            f"The arguments are not valid JSON{where}. They must be one JSON object."
        ) from None
    if not isinstance(value, dict):
        raise InvalidArguments("The arguments must be one JSON object.")
    return value


def why_unreadable(text: str) -> str:
    """Return why the arguments cannot be parsed, for a person; empty if they can."""
    try:
        parse(text)
    except InvalidArguments as error:
        return error.message
    return ""


def validate(tool: Tool, arguments: dict[str, Any]) -> ToolArgs:
    """Return the typed arguments; raises InvalidArguments naming every invalid field, without its value."""
    try:
        return tool.args.model_validate(storable.nearest_json(arguments))
    except ValidationError as error:
        problems = error.errors(include_input=False, include_url=False, include_context=False)
    fields = [
        {"field": ".".join(str(part) for part in problem["loc"])[:200], "problem": problem["msg"][:300]}
        for problem in problems[: limits.MAX_REPORTED_ARGUMENT_ERRORS]
    ]
    more = len(problems) - len(fields)
    words = "; ".join(f"{item['field'] or 'arguments'}: {item['problem']}" for item in fields)
    raise InvalidArguments(
        f"The arguments of {tool.name} are not valid: {words}{f'; and {more} more' if more else ''}.",
        fields=fields,
    )


def _depth(text: str) -> int:
    """Return the nesting depth of brackets outside strings, without recursion."""
    depth = deepest = 0
    for bracket in BRACKETS.finditer(STRINGS.sub("", text)):
        depth += 1 if bracket[0] in "[{" else -1
        deepest = max(deepest, depth)
    return deepest


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")
