"""The types a pin can have, and the JSON schema of each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, Strict, WithJsonSchema
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

JSON: TypeAlias = Any


def _text(format_name: str) -> Any:
    return Field(json_schema_extra={"format": format_name})


# Pin types. A pin may be called `list` or `input`, so blocks annotate with these names, not with builtins.
Text = Annotated[str, Strict()]
ShortText = Annotated[str, Strict(), _text("short")]
LongText = Annotated[str, Strict(), _text("long")]
DateText = Annotated[str, Strict(), _text("date")]
TimeText = Annotated[str, Strict(), _text("time")]
FileRef = Annotated[str, Strict(), _text("file")]
ModelName = Annotated[str, Strict(), _text("model")]
SecretText = Annotated[str, Strict(), _text("secret")]
Integer = Annotated[int, Strict()]
Number = Annotated[
    Annotated[int, Strict()] | Annotated[float, Strict(), Field(allow_inf_nan=False)],
    WithJsonSchema({"type": "number"}),
]
Boolean = Annotated[bool, Strict()]
AnyList = list[JSON]
Texts = list[Text]
Integers = list[Integer]
Files = list[FileRef]
Object = dict[str, JSON]
Objects = list[Object]
TextMap = dict[str, Text]
TextMaps = list[TextMap]
Lists = list[AnyList]
Row = Object | AnyList
Rows = list[Row]
# Members are checked by the block, which skips nulls and names the member that is wrong.
LooseLists = Annotated[AnyList, WithJsonSchema({"type": "array", "items": {"type": "array", "items": {}}})]
Credentials = Annotated[Object | None, WithJsonSchema({"type": "object", "format": "credentials"})]


class Pins(BaseModel):
    """A set of pins, declared as fields in the order people see them."""

    model_config = ConfigDict(extra="forbid", frozen=True, protected_namespaces=(), defer_build=True)


class BlockInputs(Pins):
    """The input pins of a block; `run` receives an instance."""


class BlockOutputs(Pins):
    """The output pins of a block; only declared, never built."""


def pin(
    default: Any = PydanticUndefined,
    *,
    description: str | None = None,
    advanced: bool = False,
    hidden: bool = False,
    secret: bool = False,
    scalar_key: str | None = None,
    **limits: Any,
) -> Any:
    """One pin: no default means required; `scalar_key` wraps what is no object as `{scalar_key: value}`."""
    extra: dict[str, JSON] = {"advanced": advanced, "hidden": hidden, "secret": secret}
    if scalar_key:
        extra["scalar_key"] = scalar_key
    extra = {name: value for name, value in extra.items() if value}
    if isinstance(default, list | dict):
        return Field(default_factory=default.copy, description=description, json_schema_extra=extra, **limits)
    return Field(default, description=description, json_schema_extra=extra, **limits)


def provided_pin(default: Any = None, *, description: str) -> Any:
    """A pin that a node must have, and that whoever runs the block fills in when it has not."""
    if isinstance(default, list | dict):
        return Field(
            default_factory=default.copy, description=description, json_schema_extra={"needed": True}
        )
    return Field(default, description=description, json_schema_extra={"needed": True})


def credentials_pin() -> Any:
    """The account a block acts with; absent means the one kept for its provider."""
    return provided_pin(description="The account to use.")


@dataclass(frozen=True, kw_only=True)
class Pin:
    """What is known of one pin: `type` is the compact form, such as `array<string>` or `string(file)`."""

    name: str
    type: str
    schema: Mapping[str, JSON]
    required: bool
    default: JSON = None
    advanced: bool = False
    hidden: bool = False
    secret: bool = False
    description: str = ""
    enum: tuple[JSON, ...] = ()
    minimum: float | None = None
    maximum: float | None = None
    scalar_key: str | None = None
    provided: bool = False  # filled in by whoever runs the block when the node leaves it out


def read_pins(model: type[Pins]) -> tuple[Pin, ...]:
    """The pins a model declares, in order."""
    document = model.model_json_schema(mode="validation")
    definitions = document.get("$defs", {})
    properties = document.get("properties", {})
    return tuple(
        _read_pin(name, info, _inline(properties[name], definitions))
        for name, info in model.model_fields.items()
    )


def object_schema(pins: tuple[Pin, ...]) -> dict[str, JSON]:
    """The JSON schema of a block's whole input or output."""
    return {
        "type": "object",
        "properties": {one.name: dict(one.schema) for one in pins},
        "required": [one.name for one in pins if one.required],
        "additionalProperties": False,
    }


def compact_type(schema: Mapping[str, JSON]) -> str:
    """`array<string>`, `integer|null`, `string(file)`, `enum`, `any`: the short name of a schema."""
    if schema.get("format") == "credentials":
        return "credentials"
    if "anyOf" in schema:
        return "|".join(dict.fromkeys(compact_type(option) for option in schema["anyOf"]))
    if "enum" in schema or "const" in schema:
        return "enum"
    kind = schema.get("type", "any")
    if kind == "array":
        return _with_member("array", schema.get("items"))
    if kind == "object":
        return _with_member("object", schema.get("additionalProperties"))
    if kind == "string" and "format" in schema:
        return f"string({schema['format']})"
    return str(kind)


def _with_member(kind: str, member: JSON) -> str:
    if not isinstance(member, Mapping) or (inner := compact_type(member)) == "any":
        return kind
    return f"{kind}<{inner}>"


FLAGS = ("advanced", "hidden", "secret", "needed", "scalar_key")


def _read_pin(name: str, info: FieldInfo, schema: dict[str, JSON]) -> Pin:
    flags = {flag: schema.pop(flag, None) for flag in FLAGS}
    schema.pop("title", None)
    branches = [schema, *schema.get("anyOf", [])]
    kind = compact_type(schema)
    return Pin(
        name=name,
        type=kind,
        schema=schema,
        required=info.is_required() or bool(flags["needed"]),
        default=None
        if info.is_required() or flags["needed"]
        else info.get_default(call_default_factory=True),
        advanced=bool(flags["advanced"]),
        hidden=bool(flags["hidden"]),
        secret=bool(flags["secret"]),
        description=info.description or "",
        enum=tuple(next((branch["enum"] for branch in branches if "enum" in branch), ())),
        minimum=next((branch["minimum"] for branch in branches if "minimum" in branch), None),
        maximum=next((branch["maximum"] for branch in branches if "maximum" in branch), None),
        scalar_key=flags["scalar_key"],
        provided=bool(flags["needed"]),
    )


def _inline(schema: JSON, definitions: Mapping[str, JSON]) -> JSON:
    """The schema with its references replaced by what they name, and without the titles pydantic makes up."""
    if isinstance(schema, list):
        return [_inline(part, definitions) for part in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        target = definitions[schema["$ref"].rsplit("/", 1)[1]]
        schema = {**target, **{key: value for key, value in schema.items() if key != "$ref"}}
    return {
        key: {name: _inline(part, definitions) for name, part in value.items()}
        if key == "properties"
        else _inline(value, definitions)
        for key, value in schema.items()
        if not (key == "title" and isinstance(value, str))
    }
