"""The official conformance suite of MCP passes against /mcp, but for a stated baseline of deprecated features."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.harness import Stack, running_stack
from tests.mcp_proxy import with_key
from tests.needs import MCP_CLIENT_PACKAGES, MCP_CLIENTS, mcp_node_program, require

SUITE = MCP_CLIENT_PACKAGES / "node_modules" / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"
SUITE_SECONDS = 500
VERDICT = re.compile(r"^([✓✗]) ([a-z0-9-]+): \d+ passed", re.MULTILINE)
APPS = {"COPILOT_TEST_APPS": "tests.testblocks,tests.testmcp", "COPILOT_MAX_WRITES_PER_MINUTE": "100000"}


@pytest.fixture(scope="module")
def stack(short_tmp: Path) -> Iterator[Stack]:
    require(MCP_CLIENTS)
    with running_stack(short_tmp / "conformance", workers=1, webs=1, env=APPS) as running:
        yield running


def run(stack: Stack, folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    with with_key(stack.url(), stack.client().key) as url:
        command = [mcp_node_program(), str(SUITE), "server", "--url", f"{url}/mcp", *words]
        return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=SUITE_SECONDS)


@pytest.mark.node
@pytest.mark.parametrize(("revision", "scenarios"), [("2025-11-25", 32), ("2026-07-28", 50)])
def test_requirements_of_a_revision_are_met(
    stack: Stack, tmp_path: Path, revision: str, scenarios: int
) -> None:
    """What the set scores, and what it runs without a score: the tasks extension, and what was added later."""
    baseline = MCP_CLIENT_PACKAGES / "baseline.yml"
    done = run(stack, tmp_path, "--requirements", revision, "--expected-failures", str(baseline))
    assert done.returncode == 0, done.stdout[-20000:] + done.stderr[-2000:]
    verdicts = {name: mark for mark, name in VERDICT.findall(done.stdout)}
    assert len(verdicts) >= scenarios, done.stdout[-5000:]
    failed = {name for name, mark in verdicts.items() if mark != "✓"}
    assert failed <= set(yaml.safe_load(baseline.read_text())["server"]), done.stdout[-5000:]
