"""Log files: read by their growth, rotated without losing the writer."""

from __future__ import annotations

from pathlib import Path

import pytest

from copilot_project.launcher import logs
from copilot_project.launcher.logs import LogFile


@pytest.fixture
def log(tmp_path: Path) -> LogFile:
    return LogFile(tmp_path / "logs" / "web.log")


def write(log: LogFile, text: str) -> None:
    with log.open() as file:
        file.write(text.encode())


def test_warnings_and_errors_are_shown_once(log: LogFile) -> None:
    write(log, "x INFO a fine\ny WARNING b odd\n")
    assert log.new_warnings() == ["y WARNING b odd"]
    write(log, "z ERROR c bad\n")
    assert log.new_warnings() == ["z ERROR c bad"]
    assert log.new_warnings() == []


def test_half_a_line_waits_for_its_rest(log: LogFile) -> None:
    write(log, "x ERR")
    assert log.new_warnings() == []
    write(log, "OR boom\n")
    assert log.new_warnings() == ["x ERROR boom"]


def test_what_an_earlier_run_wrote_is_not_shown_again(tmp_path: Path) -> None:
    path = tmp_path / "web.log"
    path.write_text("x ERROR old\n")
    assert LogFile(path).new_warnings() == []


def test_a_flood_is_cut_short(log: LogFile, monkeypatch: pytest.MonkeyPatch) -> None:
    write(log, "".join(f"x ERROR {'a' * number}\n" for number in range(100)))
    assert len(log.new_warnings()) == logs.SHOWN_LINES
    monkeypatch.setattr(logs, "SHOWN_SECONDS", 0.0)
    assert log.new_warnings() == [f"… and 95 more, in {log.path}"]


def test_the_same_line_at_another_time_is_not_shown_again(log: LogFile) -> None:
    write(log, "12:00:01 ERROR no module [0af1-22]\n12:00:02 ERROR no module [77b2-04]\n")
    assert log.new_warnings() == ["12:00:01 ERROR no module [0af1-22]"]


def test_harmless_lines_are_not_shown(log: LogFile) -> None:
    write(log, "# WARNING Memory overcommit must be enabled!\n")
    assert log.new_warnings() == []


def test_a_large_file_is_rotated_and_its_writer_goes_on(
    log: LogFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    with log.open() as writer:
        writer.write(b"x INFO old line\n" * 10)
        writer.flush()
        log.new_warnings()
        monkeypatch.setattr(logs, "MAX_BYTES", 100)
        log.rotate()
        writer.write(b"x ERROR new\n")
        writer.flush()
        assert log.new_warnings() == ["x ERROR new"]
    assert log.path.with_suffix(".log.1").read_text().startswith("x INFO old line")


def test_the_last_lines_are_given(log: LogFile) -> None:
    write(log, "".join(f"line {number}\n" for number in range(100)))
    assert log.last_lines(2) == ["line 98", "line 99"]
