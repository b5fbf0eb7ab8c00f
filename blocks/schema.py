"""Pin types and their JSON schemas."""

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


# Blocks use these names instead of builtins, because a pin may be called `list` or `input`.
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
# The block checks the members: it skips nulls and names the invalid member.
LooseLists = Annotated[AnyList, WithJsonSchema({"type": "array", "items": {"type": "array", "items": {}}})]
Credentials = Annotated[Object | None, WithJsonSchema({"type": "object", "format": "credentials"})]


class PinSet(BaseModel):
    """A set of pins, declared as fields in display order."""

    model_config = ConfigDict(extra="forbid", frozen=True, protected_namespaces=(), defer_build=True)


class BlockInputs(PinSet):
    """The input pins of a block; its function receives an instance."""


class BlockOutputs(PinSet):
    """The output pins of a block; never instantiated."""


def pin(
    default: Any = PydanticUndefined,
    *,
    description: str | None = None,
    advanced: bool = False,
    hidden: bool = False,
    secret: bool = False,
    provided: bool = False,
    scalar_key: str | None = None,
    **limits: Any,
) -> Any:
    """Declare a pin; without a default it is required.

    A `provided` pin is required too, but the runner fills it in when the node leaves it out. `scalar_key` wraps a
    value that is not an object as `{scalar_key: value}`.
    """
    flags = {"advanced": advanced, "hidden": hidden, "secret": secret, "provided": provided}
    extra: dict[str, JSON] = {name: value for name, value in flags.items() if value}
    if scalar_key:
        extra["scalar_key"] = scalar_key
    if isinstance(default, list | dict):
        return Field(default_factory=default.copy, description=description, json_schema_extra=extra, **limits)
    return Field(default, description=description, json_schema_extra=extra, **limits)


def credentials_pin() -> Any:
    """Declare the pin for the account a block uses; without one, the user's account for the provider is used."""
    return pin(None, description="The account to use.", provided=True)


@dataclass(frozen=True, kw_only=True)
class PinInfo:
    """One pin; `type` is the compact form, such as `array<string>` or `string(file)`."""

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
    provided: bool = False  # filled in by the runner if the node leaves it out


def read_pins(model: type[PinSet]) -> tuple[PinInfo, ...]:
    """Return the declared pins in order."""
    document = model.model_json_schema(mode="validation")
    definitions = document.get("$defs", {})
    properties = document.get("properties", {})
    return tuple(
        _read_pin(name, info, _inline(properties[name], definitions))
        for name, info in model.model_fields.items()
    )


def object_schema(pins: tuple[PinInfo, ...]) -> dict[str, JSON]:
    """Return the JSON schema of all inputs or outputs of a block."""
    return {
        "type": "object",
        "properties": {one.name: dict(one.schema) for one in pins},
        "required": [one.name for one in pins if one.required],
        "additionalProperties": False,
    }


def compact_type(schema: Mapping[str, JSON]) -> str:
    """Return the short name of a schema: `array<string>`, `integer|null`, `string(file)`, `enum`, `any`."""
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


FLAGS = ("advanced", "hidden", "secret", "provided", "scalar_key")


def _read_pin(name: str, info: FieldInfo, schema: dict[str, JSON]) -> PinInfo:
    flags = {flag: schema.pop(flag, None) for flag in FLAGS}
    schema.pop("title", None)
    branches = [schema, *schema.get("anyOf", [])]
    required = info.is_required() or bool(flags["provided"])
    return PinInfo(
        name=name,
        type=compact_type(schema),
        schema=schema,
        required=required,
        default=None if required else info.get_default(call_default_factory=True),
        advanced=bool(flags["advanced"]),
        hidden=bool(flags["hidden"]),
        secret=bool(flags["secret"]),
        description=info.description or "",
        enum=tuple(next((branch["enum"] for branch in branches if "enum" in branch), ())),
        minimum=next((branch["minimum"] for branch in branches if "minimum" in branch), None),
        maximum=next((branch["maximum"] for branch in branches if "maximum" in branch), None),
        scalar_key=flags["scalar_key"],
        provided=bool(flags["provided"]),
    )


def _inline(schema: JSON, definitions: Mapping[str, JSON]) -> JSON:
    """Resolve references in the schema and remove the titles that pydantic generates."""
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
