"""Parsers in processes of their own: whatever one does, it is ended, told, and nobody else notices."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from boundary import limits as boundary_limits
from boundary.errors import ParserBusy, ParserCrashed, ParserStopped, UnreadableContent
from boundary.parser_process import ParserServer, parse_isolated, parser_server
from boundary.readable import make_readable
from durable.tracing import acting_for
from tools import limits as tools_limits

TABLE_LIMITS = ("max_rows", "max_cells", "max_characters", "max_bytes")


def parse(does: str, body: bytes = b"", **options: Any) -> Any:
    return parse_isolated("tests.boundary.hostile_parser", body, {"does": does}, **options)


def test_what_the_parser_finds_comes_back() -> None:
    assert parse("echo", "Grüße\n".encode() * 500_000) == "Grüße\n" * 500_000


def test_each_request_has_a_process_of_its_own_without_our_environment() -> None:
    assert len({parse("process"), parse("process"), os.getpid()}) == 3
    assert not {"DJANGO_SECRET_KEY", "DATABASE_URL", "PATH", "HOME"} & parse("environment").keys()


@pytest.mark.parametrize("does", ["loop", "memory", "much memory", "die"])
def test_a_parser_that_loops_takes_all_memory_or_dies_is_stopped_and_the_next_one_works(does: str) -> None:
    with pytest.raises(ParserStopped, match="too much time or memory"):
        parse(does, seconds=1)
    assert parse("echo", b"still here") == "still here"


def test_a_parser_cannot_write_files(tmp_path: Path) -> None:
    with pytest.raises(ParserCrashed):
        parse("write", str(tmp_path / "file").encode())
    assert not (tmp_path / "file").exists() or not (tmp_path / "file").read_bytes()


def test_a_parser_that_waits_for_ever_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(boundary_limits, "PARSER_GRACE_SECONDS", 0.5)
    with pytest.raises(ParserStopped, match="too much time or memory"):
        parse("sleep", seconds=0.5)


@pytest.mark.parametrize(
    ("parser", "arguments"),
    [
        ("tagged_text", {"max_tags": 10, "max_depth": 10}),
        ("tables", {"dialect": {"delimiter": ","}, "limits": dict.fromkeys(TABLE_LIMITS, 10)}),
    ],
)
def test_text_that_is_no_utf8_is_refused_with_a_reason(parser: str, arguments: dict[str, Any]) -> None:
    with pytest.raises(UnreadableContent, match="not valid UTF-8"):
        parse_isolated(f"boundary.parsers.{parser}", b"<a>\xff</a>", arguments)


def test_what_a_parser_refuses_is_told_and_its_bugs_are_not_shown() -> None:
    with pytest.raises(UnreadableContent, match="It is no feed"):
        parse("refuse")
    with pytest.raises(ParserCrashed) as caught:
        parse("crash")
    assert "secret" not in str(caught.value)


def test_a_server_that_was_killed_is_started_again() -> None:
    parse("echo")
    process = parser_server()._process
    assert process is not None
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert parse("echo", b"again") == "again"


def test_the_server_ends_with_the_process_that_started_it() -> None:
    server = ParserServer()
    server.connect("tests.boundary.hostile_parser", 1, 1 << 30).close()
    assert server._control is not None
    assert server._process is not None
    server._control.close()  # as the kernel does when a process dies
    assert server._process.wait(timeout=boundary_limits.PARSER_GRACE_SECONDS) == 0


def test_more_parsers_than_may_work_at_once_are_refused_in_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(boundary_limits, "PARSER_SLOT_SECONDS", 0.01)
    server = ParserServer()
    with contextlib.ExitStack() as taken:
        for _ in range(boundary_limits.PARSERS_AT_ONCE):
            taken.enter_context(server.slot())
        with pytest.raises(ParserBusy), server.slot():
            pass
    with server.slot():
        pass


def test_one_person_cannot_take_all_parsers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(boundary_limits, "PARSER_SLOT_SECONDS", 0.01)
    server = ParserServer()
    with contextlib.ExitStack() as taken:
        for _ in range(boundary_limits.PARSERS_PER_USER):
            taken.enter_context(server.slot("ada"))
        with pytest.raises(ParserBusy), server.slot("ada"):
            pass
        with server.slot("bob"), server.slot():
            pass
    with server.slot("ada"):
        pass


def test_a_person_who_waits_for_a_parser_gets_the_next_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    server, got = ParserServer(), threading.Event()

    def wait() -> None:
        with server.slot("ada"):
            got.set()

    with contextlib.ExitStack() as taken:
        for _ in range(boundary_limits.PARSERS_PER_USER):
            taken.enter_context(server.slot("ada"))
        thread = threading.Thread(target=wait, daemon=True)
        thread.start()
        assert not got.wait(0.1)
    assert got.wait(boundary_limits.PARSER_SLOT_SECONDS)
    thread.join()


def test_hostile_pages_of_one_person_leave_parsers_for_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Through the front door: many pages that never end for one, and another's is read meanwhile."""

    def hold() -> None:
        with acting_for("user:1"), contextlib.suppress(ParserStopped, ParserBusy):
            parse("loop", seconds=2)

    threads = [threading.Thread(target=hold, daemon=True) for _ in range(2 * boundary_limits.PARSERS_AT_ONCE)]
    for thread in threads:
        thread.start()
    monkeypatch.setattr(boundary_limits, "PARSER_SLOT_SECONDS", 0.5)  # much less than they hold theirs
    with acting_for("user:2"):
        assert parse("echo", b"mine") == "mine"
    for thread in threads:
        thread.join(tools_limits.MAX_PARSER_SECONDS * len(threads))


def test_others_go_on_while_a_page_holds_its_parser(monkeypatch: pytest.MonkeyPatch) -> None:
    """4.8 MB of nested lists, from two sides: the interpreter is free, and another page is read meanwhile."""
    monkeypatch.setattr(boundary_limits, "PARSER_CPU_SECONDS", 1.0)
    hostile = b"<!doctype html><p>top</p>" + b"<dl>" * 1_200_000
    threads = [threading.Thread(target=read_page, args=[hostile], daemon=True) for _ in range(2)]
    used = time.process_time()
    for thread in threads:
        thread.start()
    assert make_readable(b"<h1>Hi</h1>", media_type="text/html").text == "# Hi"
    for thread in threads:
        thread.join(tools_limits.MAX_PARSER_SECONDS)
        assert not thread.is_alive()
    assert time.process_time() - used < 1  # processor time of this process, not of the parsers


def read_page(body: bytes) -> None:
    with contextlib.suppress(ParserStopped):
        make_readable(body, media_type="text/html")
