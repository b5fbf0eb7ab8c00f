"""No modules of the product import each other in a circle, not even for type checking or inside functions."""

from __future__ import annotations

import graphlib
import sys

import grimp
import pytest

from copilot_project.env import ROOT
from tests.code.packages import PACKAGES


def test_no_modules_import_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [str(ROOT), *sys.path])
    graph = grimp.build_graph(*PACKAGES, exclude_type_checking_imports=False, cache_dir=None)
    imports = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    try:
        graphlib.TopologicalSorter(imports).prepare()
    except graphlib.CycleError as error:
        pytest.fail("a circle of imports: " + " -> ".join(reversed(error.args[1])))
