"""Read RSS Feed: new entries of a feed, once or for ever."""

from __future__ import annotations

from calendar import timegm
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from boundary.errors import FetchError, ParserError
from boundary.http import OutboundRequest
from boundary.isolated import parse_isolated
from boundary.parsers.errors import UnreadableContent
from durable import limits
from executions.blocks.base import Category, Effects, Emissions, Leaves, block
from executions.blocks.context import BlockContext
from executions.blocks.errors import BlockFailed
from executions.blocks.examples import Example, Page, World
from executions.blocks.schema import BlockInputs, BlockOutputs, Boolean, Integer, Object, Objects, Text, pin

SHORTEST_PAUSE_SECONDS = 1
LONGEST_PAUSE_SECONDS = 86_400
FEED = """<rss version="2.0"><channel><title>News</title>
<item><title>New</title><link>https://example.com/new</link><description>Fresh</description>
<author>ada@example.com</author><category>tech</category><pubDate>Sun, 15 Jun 2025 12:00:00 GMT</pubDate></item>
<item><title>Old</title><link>https://example.com/old</link><pubDate>Mon, 02 Jun 2025 12:00:00 GMT</pubDate></item>
</channel></rss>"""
UNDATED = "<rss version='2.0'><channel><item><title>When?</title></item></channel></rss>"
BOMB = '<!DOCTYPE r [<!ENTITY a "aaaa">]><rss version="2.0"><channel></channel></rss>'
NEW = {
    "title": "New",
    "link": "https://example.com/new",
    "description": "Fresh",
    "pub_date": "2025-06-15T12:00:00+00:00",
    "author": "ada@example.com",
    "categories": ["tech"],
}
URL = "https://example.com/feed"


class Inputs(BlockInputs):
    rss_url: Text = pin(description="The feed's URL.")
    time_period: Integer = pin(1440, description="How many minutes back to look.", advanced=True)
    polling_rate: Integer = pin(description="Seconds between two looks.")
    run_continuously: Boolean = pin(True, description="Keep looking until the run is stopped.", advanced=True)


class Outputs(BlockOutputs):
    entry: Object
    entries: Objects


def feed_world(body: str) -> World:
    return World(pages={URL: Page(body=body, media_type="application/rss+xml")})


EXAMPLES = [
    Example(
        inputs={"rss_url": URL, "polling_rate": 60, "run_continuously": False},
        outputs=[("entry", NEW), ("entries", [NEW])],
        world=feed_world(FEED),
    ),
    Example(
        inputs={"rss_url": URL, "polling_rate": 60, "run_continuously": False},
        outputs=[("entries", [])],
        note="a feed that cannot be fetched counts as empty",
    ),
    Example(
        inputs={"rss_url": URL, "polling_rate": 60, "run_continuously": False},
        error="has no date",
        world=feed_world(UNDATED),
    ),
    Example(
        inputs={"rss_url": URL, "polling_rate": 60, "run_continuously": False},
        error="declares entities",
        note="XML bombs are refused",
        world=feed_world(BOMB),
    ),
    Example(inputs={"rss_url": URL, "run_continuously": False}, error="needs the input 'polling_rate'"),
]


@block(
    id="5ebe6768-8e5d-41e3-9134-1c7bd89a8d52",
    name="Read RSS Feed",
    category=Category.INPUT,
    inputs=Inputs,
    outputs=Outputs,
    examples=EXAMPLES,
    effects=Effects.NETWORK,
    reads_outside=True,
    leaves=Leaves.ADDRESS,
    repeats=("entry", "entries"),
)
def read_rss_feed(inputs: Inputs, context: BlockContext) -> Emissions:
    """Emits each recent entry of an RSS or Atom feed and then the list; keeps looking for new ones on request."""
    try:
        since = context.now() - timedelta(minutes=inputs.time_period)
    except OverflowError:
        raise BlockFailed("`time_period` leads outside the calendar.") from None
    seen: set[tuple[str, str]] = set()
    while True:
        fresh = [entry for entry in read_feed(inputs.rss_url, since, context) if is_new(entry, seen)]
        for entry in fresh:
            yield "entry", entry
        yield "entries", fresh
        if not inputs.run_continuously:
            return
        pause = min(max(inputs.polling_rate, SHORTEST_PAUSE_SECONDS), LONGEST_PAUSE_SECONDS)
        context.wait_until(context.now() + timedelta(seconds=pause))


def is_new(entry: Object, seen: set[tuple[str, str]]) -> bool:
    """Whether no earlier look found it."""
    key = (entry["link"], entry["title"])
    known = key in seen
    seen.add(key)
    return not known


def read_feed(url: str, since: datetime, context: BlockContext) -> Iterator[Object]:
    try:
        response = context.ports.http.fetch(OutboundRequest(url=url, max_bytes=limits.MAX_FEED_BYTES))
    except FetchError:
        return
    if b"<!ENTITY" in response.body.upper():
        raise BlockFailed("The feed declares entities of its own, which are not read.")
    for raw in parse_feed(response.body):
        published = read_date(raw)
        if published > since:
            yield make_entry(raw, published)


def parse_feed(body: bytes) -> list[Object]:
    try:
        entries: list[Object] = parse_isolated("boundary.parsers.feeds", body)
    except (ParserError, UnreadableContent) as error:
        raise BlockFailed(str(error)) from None
    return entries


def read_date(raw: Object) -> datetime:
    if raw["date"] is None:
        raise BlockFailed(f"The entry {raw['title'][:100]!r} has no date.")
    try:
        return datetime.fromtimestamp(timegm(tuple(raw["date"])), tz=UTC)
    except (ValueError, OverflowError, OSError):
        raise BlockFailed(f"The entry {raw['title'][:100]!r} has no date of the calendar.") from None


def make_entry(raw: Object, published: datetime) -> Object:
    return {
        "title": raw["title"],
        "link": raw["link"],
        "description": raw["description"],
        "pub_date": published.isoformat(),
        "author": raw["author"],
        "categories": raw["categories"],
    }
