"""Read RSS Feed: read new entries of a feed."""

from calendar import timegm
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from blocks import limits
from blocks.base import Category, Effects, Emissions, Leaves, block
from blocks.context import BlockContext
from blocks.errors import BlockFailed
from blocks.examples import Example, ExamplePage, World
from blocks.schema import BlockInputs, BlockOutputs, Boolean, Integer, Object, Objects, Text, pin
from boundary.errors import FetchError
from boundary.http import OutboundRequest
from boundary.parser_process import parse_isolated

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
    rss_url: Text = pin(description="URL of the feed.")
    time_period: Integer = pin(1440, description="Minutes to look back.", advanced=True)
    polling_rate: Integer = pin(description="Seconds between polls.")
    run_continuously: Boolean = pin(True, description="Keep polling until the run is stopped.", advanced=True)


class Outputs(BlockOutputs):
    entry: Object
    entries: Objects


def feed_world(body: str) -> World:
    return World(pages={URL: ExamplePage(body=body, media_type="application/rss+xml")})


EXAMPLES = [
    Example(
        inputs={"rss_url": URL, "polling_rate": 60, "run_continuously": False},
        outputs=[("entry", NEW), ("entries", [NEW])],
        world=feed_world(FEED),
    ),
    Example(
        inputs={"rss_url": URL, "polling_rate": 60, "run_continuously": False},
        outputs=[("entries", [])],
        note="a feed that cannot be fetched is treated as empty",
    ),
    Example(
        inputs={"rss_url": URL, "polling_rate": 60, "run_continuously": False},
        error="has no date",
        world=feed_world(UNDATED),
    ),
    Example(
        inputs={"rss_url": URL, "polling_rate": 60, "run_continuously": False},
        error="declares XML entities",
        note="XML bombs are refused",
        world=feed_world(BOMB),
    ),
    Example(inputs={"rss_url": URL, "run_continuously": False}, error="needs the input 'polling_rate'"),
]


@block(
    id="5ebe6768-8e5d-41e3-9134-1c7bd89a8d52",
    name="Read RSS Feed",
    category=Category.INPUT,
    outputs=Outputs,
    examples=EXAMPLES,
    effects=Effects.NETWORK,
    reads_outside=True,
    leaves=Leaves.ADDRESS,
    repeats=("entry", "entries"),
)
def read_rss_feed(inputs: Inputs, context: BlockContext) -> Emissions:
    """Emit each recent entry of an RSS or Atom feed, then the list. Can keep polling for new entries."""
    try:
        since = context.now() - timedelta(minutes=inputs.time_period)
    except OverflowError:
        raise BlockFailed("`time_period` is too large.") from None
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
    """Return whether no earlier poll found the entry."""
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
        raise BlockFailed("The feed declares XML entities, which are not supported.")
    entries: Objects = parse_isolated("boundary.parsers.feeds", response.body)
    for raw in entries:
        published = read_date(raw)
        if published > since:
            yield make_entry(raw, published)


def read_date(raw: Object) -> datetime:
    if raw["date"] is None:
        raise BlockFailed(f"The entry {raw['title'][:100]!r} has no date.")
    try:
        return datetime.fromtimestamp(timegm(tuple(raw["date"])), tz=UTC)
    except (ValueError, OverflowError, OSError):
        raise BlockFailed(f"The entry {raw['title'][:100]!r} has an invalid date.") from None


def make_entry(raw: Object, published: datetime) -> Object:
    return {
        "title": raw["title"],
        "link": raw["link"],
        "description": raw["description"],
        "pub_date": published.isoformat(),
        "author": raw["author"],
        "categories": raw["categories"],
    }
