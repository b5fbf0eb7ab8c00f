"""All tools there are: the catalogue's, and those other Django apps bring in their `copilot_tools.py`."""

from __future__ import annotations

import difflib
import importlib
import pkgutil
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Protocol

from django.apps import apps
from django.utils.module_loading import module_has_submodule

from boundary import sandbox
from durable import limits
from llm.types import ToolSpec
from tools import catalog, schema
from tools.base import Tool
from tools.errors import DuplicateTool, SchemasTooLarge
from tools.permissions import Permissions

EXTENSION = "copilot_tools"


class Session(Protocol):
    """Whoever asks what is on offer."""

    @property
    def permissions(self) -> Permissions: ...


class Registry:
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
        """Add every tool that was defined in a module, not those it imported."""
        for value in vars(module).values():
            if isinstance(value, Tool) and value.module == module.__name__:
                self.add(value)

    def get(self, name: str) -> Tool | None:
        return self._tools.get(name)

    def all(self) -> list[Tool]:
        """In the order of their names, so that requests are the same from process to process."""
        return [self._tools[name] for name in sorted(self._tools)]

    def offered(self, session: Session) -> list[ToolSpec]:
        """What the model of a session is told it may call: permitted, and able to run on this machine."""
        return [
            schema.spec(tool)
            for tool in self.all()
            if session.permissions.allows_tool(tool.name) and tool.available()
        ]

    def similar(self, name: str) -> list[str]:
        """Names close to one that does not exist."""
        return difflib.get_close_matches(name[:100], list(self._tools), n=3)

    def check_size(self) -> None:
        """Raise SchemasTooLarge when the schemas of all tools together pass the limit."""
        total = sum(schema.size(tool) for tool in self.all())
        if total > limits.MAX_TOOL_SCHEMA_CHARACTERS:
            raise SchemasTooLarge(
                f"The tools' schemas have {total:,} characters; {limits.MAX_TOOL_SCHEMA_CHARACTERS:,} are allowed. "
                "Shorten descriptions, or bring fewer tools."
            )


def discover() -> Registry:
    """Import the catalogue and every installed app's `copilot_tools` module."""
    registry = Registry()
    for found in pkgutil.iter_modules(catalog.__path__):
        registry.add_module(importlib.import_module(f"{catalog.__name__}.{found.name}"))
    for app in apps.get_app_configs():
        if app.module is not None and module_has_submodule(app.module, EXTENSION):
            registry.add_module(importlib.import_module(f"{app.name}.{EXTENSION}"))
    return registry


class _Current:
    """The process's registry; discovered at first use, so that start-up stays short."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._registry: Registry | None = None

    def get(self) -> Registry:
        with self._lock:
            if self._registry is None:
                self._registry = discover()
            return self._registry

    def put(self, registry: Registry) -> None:
        with self._lock:
            self._registry = registry


_current = _Current()


def current() -> Registry:
    """All tools of this process."""
    return _current.get()


def offered(session: Session) -> list[ToolSpec]:
    """What the model of a session may call."""
    return current().offered(session)


def prepare() -> None:
    """Do now what the first turn of a worker would wait for: imports, schemas and the sandbox's self-test."""
    for tool in current().all():
        tool.available()  # begins the self-test, which goes on beside the rest
        schema.spec(tool)
    sandbox.wait_until_tested(limits.WARM_UP_SECONDS)


@contextmanager
def override(*tools: Tool, only: bool = False) -> Iterator[Registry]:
    """For tests: these tools on top of the others, or `only` these."""
    before = current()
    changed = Registry([*(() if only else before.all()), *tools])
    _current.put(changed)
    try:
        yield changed
    finally:
        _current.put(before)
