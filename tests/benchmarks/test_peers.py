"""The comparison with other servers: the model, the load and the limit run; no peer is installed here."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from benchmarks import peers
from benchmarks.peer_servers import installation
from benchmarks.side_by_side import Report, at_most
from tests.harness import free_port


def test_the_load_reports_the_first_word_and_the_end_of_each_answer(tmp_path: Path) -> None:
    with peers.model(tmp_path) as url, peers.proxy(tmp_path, url) as server:
        found = server.ask("words-20-1", at_once=3)
        looped = server.ask("words-20-0", users=2, seconds=0.01)
    assert len(found["first"]) == len(found["whole"]) == 3
    assert all(0 < first < whole for first, whole in zip(found["first"], found["whole"], strict=True))
    assert len(looped["first"]) >= 2
    assert server.pids


def test_a_server_that_is_gone_is_named(tmp_path: Path) -> None:
    with peers.model(tmp_path) as url, peers.proxy(tmp_path, url) as server:
        gone = dataclasses.replace(server, port=free_port())
    with pytest.raises(RuntimeError, match="proxy did not answer"):
        gone.ask("words-1-0", at_once=1)


def test_a_peer_whose_packages_cannot_be_installed_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(installation.FOLDER, str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(installation.CannotInstall, match="npm is not installed"):
        installation.node_packages("ai-sdk", "ai")


def test_each_peer_gets_a_row_and_the_goal_stands_once() -> None:
    report = Report("peers", "")
    peers.add(report, "first word", {"ratchet": [20.0], "a": [10.0], "b": [40.0]}, 0.5, at_most(30))
    assert [row.ratio for row in report.rows] == [2.0, 0.5]
    assert [row.verdict for row in report.rows] == ["ok", "-"]
