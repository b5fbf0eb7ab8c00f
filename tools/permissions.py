"""Allow and deny lists of the tools and blocks that a session may use; a child session can only narrow them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from tools.errors import BadPermissions

MAX_NAMES = 500
MAX_NAME_CHARACTERS = 200


@dataclass(frozen=True, kw_only=True)
class NameList:
    """Names that are allowed (None: all of them) minus names that are denied; a denial always wins."""

    allow: frozenset[str] | None = None
    deny: frozenset[str] = frozenset()

    def allows(self, *names: str) -> bool:
        """Return whether something with these names may be used: no name is denied, and one is allowed."""
        if any(name in self.deny for name in names):
            return False
        return self.allow is None or any(name in self.allow for name in names)

    def narrowed(self, child: NameList) -> NameList:
        """Return the names that both allow."""
        if self.allow is None or child.allow is None:
            allow = child.allow if self.allow is None else self.allow
        else:
            allow = self.allow & child.allow
        return NameList(allow=allow, deny=self.deny | child.deny)

    def as_json(self) -> dict[str, list[str] | None]:
        return {"allow": None if self.allow is None else sorted(self.allow), "deny": sorted(self.deny)}


@dataclass(frozen=True, kw_only=True)
class Permissions:
    """The permissions of one session; the default allows everything."""

    tools: NameList = field(default_factory=NameList)
    blocks: NameList = field(default_factory=NameList)

    @classmethod
    def parse(cls, value: object) -> Permissions:
        """Parse the JSON form; None allows everything. Raises BadPermissions naming the invalid field."""
        if value is None:
            return cls()
        found = _mapping(value, "permissions", {"tools", "blocks"})
        return cls(
            tools=_name_list(found.get("tools"), "tools"), blocks=_name_list(found.get("blocks"), "blocks")
        )

    def as_json(self) -> dict[str, Any]:
        return {"tools": self.tools.as_json(), "blocks": self.blocks.as_json()}

    def allows_tool(self, name: str) -> bool:
        return self.tools.allows(name)

    def allows_block(self, *names: str) -> bool:
        """Return whether a block may be used, given its id and its name."""
        return self.blocks.allows(*names)


class Known(Protocol):
    """Something with an id and a name."""

    @property
    def id(self) -> str: ...

    @property
    def name(self) -> str: ...


def block_rule(permissions: Permissions) -> Callable[[Known], bool]:
    """Return a function that says whether a block may be used."""
    return lambda block: permissions.allows_block(block.id, block.name)


def narrow(parent: Permissions, child: Permissions) -> Permissions:
    """Return the permissions of a child session: what both it and its parent allow."""
    return Permissions(tools=parent.tools.narrowed(child.tools), blocks=parent.blocks.narrowed(child.blocks))


def _name_list(value: object, field: str) -> NameList:
    if value is None:
        return NameList()
    found = _mapping(value, field, {"allow", "deny"})
    allow, deny = found.get("allow"), found.get("deny")
    return NameList(
        allow=None if allow is None else _names(allow, f"{field}.allow"),
        deny=frozenset() if deny is None else _names(deny, f"{field}.deny"),
    )


def _mapping(value: object, field: str, keys: set[str]) -> Mapping[str, object]:
    if not isinstance(value, Mapping):
        raise BadPermissions(f"{field} must be an object with {' and '.join(sorted(keys))}.")
    unknown = sorted(str(key) for key in value if key not in keys)
    if unknown:
        raise BadPermissions(f"{field} has the unknown key {unknown[0]!r}. Known: {', '.join(sorted(keys))}.")
    return value


def _names(value: object, field: str) -> frozenset[str]:
    if not isinstance(value, list | tuple | set | frozenset) or not all(
        isinstance(name, str) for name in value
    ):
        raise BadPermissions(f"{field} must be a list of names.")
    if len(value) > MAX_NAMES or any(not 0 < len(name) <= MAX_NAME_CHARACTERS for name in value):
        raise BadPermissions(
            f"{field} must have at most {MAX_NAMES} names of 1 to {MAX_NAME_CHARACTERS} characters."
        )
    return frozenset(value)
