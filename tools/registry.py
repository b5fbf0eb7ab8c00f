"""The registry of tools: the catalog's, and those that other Django apps define in `copilot_tools.py`."""

from __future__ import annotations

import difflib
import importlib
import pkgutil
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any, Protocol

from django.apps import apps
from django.core.checks import CheckMessage, Error
from django.utils.module_loading import module_has_submodule

from boundary import sandbox
from llm.types import ToolSpec
from tools import catalog, limits, schema
from tools.base import Tool
from tools.errors import BadTool, DuplicateTool, SchemasTooLarge
from tools.permissions import Permissions

EXTENSION = "copilot_tools"


class ToolSession(Protocol):
    """A session with permissions."""

    @property
    def permissions(self) -> Permissions: ...


class ToolRegistry:
    """Tools by name."""

    def __init__(self, tools: Iterable[Tool] = ()) -> None:
        self._tools: dict[str, Tool] = {}
        for tool in tools:
            self.add(tool)

    def add(self, tool: Tool) -> None:
        present = self._tools.setdefault(tool.name, tool)
        if present is not tool:
            raise DuplicateTool(
                f"Two tools are named {tool.name}: one in {present.module}, one in {tool.module}. Rename one."
            )

    def add_module(self, module: ModuleType) -> None:
        """Add every tool that a module defines, but not those it imports."""
        for value in vars(module).values():
            if isinstance(value, Tool) and value.module == module.__name__:
                self.add(value)

    def get(self, name: str) -> Tool | None:
        return self._tools.get(name)

    def all(self) -> list[Tool]:
        """Return all tools by name, so that requests are the same in every process."""
        return [self._tools[name] for name in sorted(self._tools)]

    def offered(self, session: ToolSession) -> list[ToolSpec]:
        """Return the tools that a session's model may call: permitted, and available on this machine."""
        return [
            schema.spec(tool)
            for tool in self.all()
            if session.permissions.allows_tool(tool.name) and tool.available()
        ]

    def similar(self, name: str) -> list[str]:
        """Return names similar to one that does not exist."""
        return difflib.get_close_matches(name[:100], list(self._tools), n=3)

    def check_size(self) -> None:
        """Raise SchemasTooLarge if the schemas of all tools together exceed the limit."""
        total = sum(schema.size(tool) for tool in self.all())
        if total > limits.MAX_TOOL_SCHEMA_CHARACTERS:
            raise SchemasTooLarge(
                f"The tools' schemas have {total:,} characters; {limits.MAX_TOOL_SCHEMA_CHARACTERS:,} are allowed. "
                "Shorten descriptions, or install fewer tools."
            )


def discover() -> ToolRegistry:
    """Import the catalogue and every installed app's `copilot_tools` module."""
    registry = ToolRegistry()
    for found in pkgutil.iter_modules(catalog.__path__):
        registry.add_module(importlib.import_module(f"{catalog.__name__}.{found.name}"))
    for app in apps.get_app_configs():
        if app.module is not None and module_has_submodule(app.module, EXTENSION):
            registry.add_module(importlib.import_module(f"{app.name}.{EXTENSION}"))
    return registry


class _Current:
    """The process's registry; discovered at first use to keep start-up short."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._registry: ToolRegistry | None = None

    def get(self) -> ToolRegistry:
        with self._lock:
            if self._registry is None:
                self._registry = discover()
            return self._registry

    def put(self, registry: ToolRegistry) -> None:
        with self._lock:
            self._registry = registry


_current = _Current()


def current() -> ToolRegistry:
    """Return the registry of this process."""
    return _current.get()


def offered(session: ToolSession) -> list[ToolSpec]:
    """Return the tools that a session's model may call."""
    return current().offered(session)


def prepare() -> None:
    """Do what the first turn of a worker would otherwise wait for: imports, schemas, the sandbox's self-test."""
    for tool in current().all():
        tool.available()  # starts the self-test, which runs in parallel
        schema.spec(tool)
    sandbox.wait_until_tested(limits.WARM_UP_SECONDS)


@contextmanager
def override(*tools: Tool, only: bool = False) -> Iterator[ToolRegistry]:
    """Add these tools, or use `only` these, while inside; for tests."""
    before = current()
    changed = ToolRegistry([*(() if only else before.all()), *tools])
    _current.put(changed)
    try:
        yield changed
    finally:
        _current.put(before)


def check_tools(**_: Any) -> list[CheckMessage]:
    try:
        current().check_size()
    except BadTool as error:
        return [Error(str(error), id="tools.E001")]
    return []
