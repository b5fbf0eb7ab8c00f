"""Run a module in a copy of a fork server: `MODULE WORDS...`, with the settings its own environment asks for."""

from __future__ import annotations

import importlib
import runpy
import sys
from copy import deepcopy
from typing import Any

MAY_DIFFER = frozenset({"ENV", "SITE_URL", "COPILOT_CRASH_AT"})
loaded_with: dict[str, Any] = {}


def keep_settings() -> None:
    """Remember what the product is about to be loaded with; Django completes some of it in place."""
    module = importlib.import_module("copilot_project.settings")
    loaded_with.update(deepcopy(upper(module)))


def main(module: str, words: list[str]) -> None:
    if loaded_with:
        read_settings_anew()
    sys.argv = [module, *words]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


def read_settings_anew() -> None:
    """Take what the environment of this one process says; the rest has been used already and must be the same."""
    from django.conf import settings

    own = upper(importlib.reload(sys.modules["copilot_project.settings"]))
    changed = {name for name in own | loaded_with if own.get(name) != loaded_with.get(name)}
    if forbidden := changed - MAY_DIFFER:
        raise RuntimeError(f"A copy cannot have other values of {', '.join(sorted(forbidden))}.")
    for name in changed:
        setattr(settings, name, own[name])


def upper(module: Any) -> dict[str, Any]:
    return {name: value for name, value in vars(module).items() if name.isupper()}


if __name__ == "__main__":
    importlib.import_module("tests.forked_product").main(sys.argv[1], sys.argv[2:])
