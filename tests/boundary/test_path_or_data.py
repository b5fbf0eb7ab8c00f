"""Content that names a file or an address is content: no parser of a stranger's bytes opens what they name.

Several libraries take "a path, a URL or the data". Each one the product hands outside content to is given the path
of a secret, a file URL, the address of a server on this machine and an endless device. An audit hook of the
interpreter sees (and stops) every attempt to open one of them.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth import get_user_model

from blocks.adapters.databases import OutsideDatabases
from blocks.adapters.live import GuardedWeb
from blocks.adapters.transcripts import YouTubeCaptions
from blocks.errors import BlockError
from blocks.examples import ExamplePage, World
from blocks.ports import DatabaseQuery, PortError
from blocks.registry import get_registry
from blocks.run import run_block
from blocks.templates.render import render_template
from boundary.errors import UnreadableContent
from boundary.http import Outside
from boundary.parsers import charset, feeds, html, pictures
from boundary.parsers.tables import read_xls, read_xlsx
from boundary.policy import AllowList, NetworkPolicy
from boundary.readable import make_readable
from durable.stop_signal import StopSignal
from executions.inputs import fit_inputs
from tests.blocks.adapters.test_transcripts import ENGLISH, PLAYER, VIDEO, WATCH, WATCH_PAGE, player
from tests.blocks.doubles import ScriptedWeb, make_context, make_ports
from tests.blocks.support.test_tables import repack, workbook
from tests.boundary.servers import LocalServer, reply, serve
from workspace import files
from workspace.data_uris import DataUris
from workspace.errors import WorkspaceError
from workspace.media_types import detect

SECRET = "top-secret-entry"
SECRET_FEED = f"""<rss version="2.0"><channel><item><title>{SECRET}</title><link>https://example.com/s</link>
<pubDate>Sun, 15 Jun 2025 12:00:00 GMT</pubDate></item></channel></rss>"""
REFUSALS = (BlockError, UnreadableContent, PortError, WorkspaceError, ValueError)
NEVER = StopSignal()
MOST = 1_000_000


class OpenedByName(Exception):
    """A parser opened what its content only named."""


@dataclass
class Guard:
    """Refuses to open the watched names, and remembers who tried."""

    names: set[str] = field(default_factory=set)
    port: int = 0
    attempts: list[str] = field(default_factory=list)

    def hook(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self.names and self.is_attempt(event, arguments):
            self.attempts.append(f"{event}: {arguments!r}"[:200])
            raise OpenedByName(event)

    def is_attempt(self, event: str, arguments: tuple[Any, ...]) -> bool:
        match event:
            case "open" | "sqlite3.connect":
                name = arguments[0]
                return (os.fsdecode(name) if isinstance(name, bytes) else str(name)) in self.names
            case "socket.connect":
                return isinstance(arguments[1], tuple) and arguments[1][1] == self.port
            case "urllib.Request":
                return True
            case _:
                return False


GUARD = Guard()
sys.addaudithook(GUARD.hook)  # cannot be removed; it does nothing while no name is watched


@dataclass(frozen=True, kw_only=True)
class Target:
    """What the content names."""

    path: Path
    server: LocalServer

    def named(self, form: str) -> str:
        return {
            "path": str(self.path),
            "file URL": self.path.as_uri(),
            "address": self.server.url("/secret"),
            "device": "/dev/zero",
        }[form]


@pytest.fixture
def target(tmp_path: Path) -> Iterator[Target]:
    """A secret on the disk and on a server of this machine, watched."""
    secret = tmp_path / "secret.xml"
    secret.write_text(SECRET_FEED)
    with serve(lambda handler, _: reply(handler, SECRET_FEED.encode())) as server:
        yield Target(path=secret, server=server)


@contextlib.contextmanager
def watched(target: Target) -> Iterator[None]:
    """Nothing of the target is opened in here, neither from the disk nor over the network."""
    GUARD.names, GUARD.port = {str(target.path), target.path.as_uri(), "/dev/zero"}, target.server.port
    GUARD.attempts.clear()
    try:
        yield
    finally:
        GUARD.names = set()
    assert GUARD.attempts == []
    assert target.server.received == []


def run(name: str, inputs: dict[str, Any], world: World | None = None) -> list[tuple[str, Any]]:
    return list(run_block(get_registry().get_by_name(name), inputs, make_context(world or World())))


def external_entity(named: str) -> str:
    return f'<?xml version="1.0"?><!DOCTYPE rss SYSTEM "{named}"><rss version="2.0"><channel/></rss>'


def read_feed(named: str) -> Any:
    """Through a real server: its answer is nothing but the name."""
    with serve(lambda handler, _: reply(handler, named.encode())) as feed:
        outside = Outside(policy=NetworkPolicy(allowed=AllowList.of([feed.host])))
        context = make_context(ports=replace(make_ports(World()), http=GuardedWeb(outside)))
        inputs = {
            "rss_url": feed.url("/feed"),
            "polling_rate": 60,
            "run_continuously": False,
            "time_period": 10**8,
        }
        return list(run_block(get_registry().get_by_name("Read RSS Feed"), inputs, context))


def read_feed_with_entity(named: str) -> Any:
    return read_feed(external_entity(named))


def read_spreadsheet(named: str) -> Any:
    found = run("Read Spreadsheet", {"file_input": "table"}, World(files={"table": named.encode()}))
    return [pair for pair in found if SECRET in str(pair)]


def read_linked_workbook(named: str) -> Any:
    """A workbook whose parts are said to be elsewhere."""
    links = f"""<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">
    <Relationship Id="rId1" Target="{named}" TargetMode="External"
    Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/worksheet"/></Relationships>"""
    return list(read_xlsx(repack(workbook([["a"]]), {"xl/_rels/workbook.xml.rels": links.encode()}), MOST))


def read_captions(named: str) -> Any:
    pages = {WATCH: WATCH_PAGE, PLAYER: player(("en", ENGLISH)), ENGLISH: ExamplePage(body=named)}
    return YouTubeCaptions(ScriptedWeb(pages=pages)).transcript(VIDEO)


def follow_captions(named: str) -> Any:
    """The list of captions says that they are at the name."""
    pages = {WATCH: WATCH_PAGE, PLAYER: player(("en", named))}
    return YouTubeCaptions(ScriptedWeb(pages=pages)).transcript(VIDEO)


def query_sqlite(content: bytes, query: str) -> Any:
    asked = DatabaseQuery(
        kind="sqlite", content=content, query=query, read_only=True, timeout_seconds=5.0, max_rows=10
    )
    return OutsideDatabases().run(asked, NEVER).rows


def check_against_reference(named: str) -> Any:
    return fit_inputs({"a": SECRET}, {"properties": {"a": {"$ref": named}}})["a"].replace(SECRET, "")


def show_picture(named: str) -> Any:
    """In this process, where the guard sees it."""
    asked = {"format": "PNG", "max_edge": 100, "max_bytes": 1000, "max_pixels": 1000}
    return pictures.parse(named.encode(), asked)


def keep_file(named: str) -> Any:
    """Saved, its kind found by its content and by its name."""
    user = get_user_model().objects.create_user("ada")
    file = files.save(user, "secret.xml", named.encode())
    assert files.read_range(file) == named.encode()
    return detect(named.encode(), named), detect(b"\0" + named.encode(), named)


def move_data_uri(named: str) -> Any:
    return DataUris(user=get_user_model().objects.create_user("ada")).move(
        [named, f"data:{named};base64,AAAA"]
    )


def read_time(named: str) -> Any:
    return run("Get Current Time", {"trigger": "go", "format_type": {"timezone": named}})


READERS: dict[str, Callable[[str], Any]] = {
    "feedparser": read_feed,
    "feedparser, in this process": lambda named: feeds.parse(named.encode(), {}),
    "feedparser, a document type in this process": lambda named: feeds.parse(
        external_entity(named).encode(), {}
    ),
    "feedparser, a document type": read_feed_with_entity,
    "openpyxl": lambda named: list(read_xlsx(named.encode(), MOST)),
    "openpyxl, linked parts": read_linked_workbook,
    "xlrd": lambda named: list(read_xls(named.encode())),
    "csv": read_spreadsheet,
    "pillow": show_picture,
    "puremagic and mimetypes": keep_file,
    "mimetypes, a data URI": move_data_uri,
    "youtube-transcript-api": read_captions,
    "youtube-transcript-api, an address": follow_captions,
    "html-to-markdown": lambda named: make_readable(named.encode(), media_type="text/html", url=named),
    "html-to-markdown, an image": lambda named: make_readable(
        f'<img src="{named}"><iframe src="{named}"></iframe>'.encode(), media_type="text/html"
    ),
    "html-to-markdown, in this process": lambda named: html.parse(
        f'{named}<img src="{named}"><iframe src="{named}"></iframe>'.encode(),
        {"url": named, "max_depth": 100, "max_characters": 1000},
    ),
    "charset-normalizer, in this process": lambda named: charset.parse(named.encode() + b"\xff", {}),
    "charset-normalizer": lambda named: make_readable(named.encode() + b"\xff", media_type="text/plain"),
    "jsonschema": check_against_reference,
    "jinja": lambda named: render_template(f'{{% include "{named}" %}}', {}),
    "zoneinfo": read_time,
    "sqlite": lambda named: query_sqlite(named.encode(), "SELECT 1"),
    "sqlite, attach": lambda named: query_sqlite(b"", f"ATTACH '{named}' AS other"),
    "json": lambda named: run("JSON Decoder", {"text": json.dumps(named)}),
    "xml": lambda named: run("XML Parser", {"input_xml": external_entity(named)}),
    "a file reference": lambda named: run("File Read", {"file_input": named}),
}


# An address is what a file reference may be; the guarded client decides about that one.
CASES = [
    (reader, form)
    for reader in READERS
    for form in ("path", "file URL", "address", "device")
    if (reader, form) != ("a file reference", "address")
]


@pytest.mark.django_db
@pytest.mark.parametrize(("reader", "form"), CASES)
def test_content_that_names_something_is_not_followed(reader: str, form: str, target: Target) -> None:
    named = target.named(form)
    found = None
    with watched(target), contextlib.suppress(*REFUSALS):
        found = READERS[reader](named)
    assert SECRET not in repr(found)


def test_the_guard_sees_what_it_should(target: Target) -> None:
    """The hook notices the very fault it looks for: the library is given the name itself."""
    import feedparser  # type: ignore[import-untyped]

    for form in ("path", "device", "address"):
        with pytest.raises((AssertionError, OpenedByName)), watched(target):
            feedparser.parse(target.named(form).encode() if form != "address" else target.named(form))
