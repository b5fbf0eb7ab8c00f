"""Checks of links: existing nodes and pins, compatible types."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from executions.agents.nearest_names import did_you_mean
from executions.agents.pins import BadNestedPin, FoundPin, PinError
from executions.agents.validation.problems import Code, Problem
from executions.agents.validation.scope import Checked
from executions.agents.validation.types import can_fit, shown_type
from executions.graph import Link


def check_links(checked: Checked) -> Iterator[Problem]:
    for link in checked.graph.links:
        yield from check_ends(checked, link)
    for link in checked.joined_links():
        yield from check_pins(checked, link)
    yield from check_doubles(checked)


def check_ends(checked: Checked, link: Link) -> Iterator[Problem]:
    nodes = checked.graph.nodes_by_id
    for end, node_id, pin, other in (
        ("begins", link.source_id, link.source_name, link.sink_id),
        ("ends", link.sink_id, link.sink_name, link.source_id),
    ):
        if node_id not in nodes:
            message = (
                f"The link {link.id[:60]!r} {end} at the node {node_id[:60]!r}, which does not exist. "
                "Remove the link or add the node."
            )
            place = other if other in nodes else node_id
            yield Problem(code=Code.DANGLING_LINK, message=message, node_id=place[:200], pin=pin[:200])


def check_pins(checked: Checked, link: Link) -> Iterator[Problem]:
    """Check the pins at both ends, and whether the source's type can be converted to the sink's."""
    source = sink = None
    try:
        source = find_source(checked, link)
    except PinError as error:
        yield pin_problem(checked, error, link.source_id, link.source_name, "output")
    try:
        sink = find_sink(checked, link)
    except PinError as error:
        yield pin_problem(checked, error, link.sink_id, link.sink_name, "input")
    if source and sink and not can_fit(source.schema, sink.schema, scalar_key=sink.scalar_key):
        yield mismatch(checked, link, source, sink)
    if source and not link.is_static and checked.blocks[link.source_id].static_output:
        message = (
            f"The link from {checked.title(link.source_id)} must be static: its value is used repeatedly."
        )
        yield Problem(code=Code.NOT_STATIC, message=message, node_id=link.source_id, pin=link.source_name)


def find_source(checked: Checked, link: Link) -> FoundPin | None:
    """Return the output a link starts from; None if the block is unknown. Raises PinError."""
    pins = checked.pins.get(link.source_id)
    return pins.find_output(link.source_name) if pins else None


def find_sink(checked: Checked, link: Link) -> FoundPin | None:
    """Return the input a link leads to; None if the block is unknown. Raises PinError."""
    pins = checked.pins.get(link.sink_id)
    return pins.find_input(link.sink_name) if pins else None


def pin_problem(checked: Checked, error: PinError, node_id: str, name: str, side: str) -> Problem:
    if isinstance(error, BadNestedPin):
        message = f"{checked.title(node_id)}: {error}"
        return Problem(code=Code.BAD_NESTED_PIN, message=message, node_id=node_id, pin=name[:200])
    pins = checked.pins[node_id]
    names = list(pins.input_names() if side == "input" else pins.output_names())
    message = f"{checked.title(node_id)} has no {side} {name[:80]!r}. {did_you_mean(name, names)}"
    return Problem(code=Code.UNKNOWN_PIN, message=message, node_id=node_id, pin=name[:200])


def mismatch(checked: Checked, link: Link, source: FoundPin, sink: FoundPin) -> Problem:
    message = (
        f"{checked.title(link.source_id)} gives {shown_type(source.schema)} on {link.source_name[:80]!r}, and "
        f"{checked.title(link.sink_id)} takes {shown_type(sink.schema)} on {link.sink_name[:80]!r}. "
        "Link another pin, or insert a Universal Type Converter."
    )
    return Problem(code=Code.TYPE_MISMATCH, message=message, node_id=link.sink_id, pin=link.sink_name[:200])


def check_doubles(checked: Checked) -> Iterator[Problem]:
    """Check for links that share an id, have none, or connect the same pins twice."""
    for link_id, times in Counter(link.id for link in checked.graph.links if link.id).items():
        if times > 1:
            message = f"{times} links have the id {link_id[:60]!r}. Give each its own."
            yield Problem(code=Code.DUPLICATE_ID, message=message)
    nameless = sum(not link.id for link in checked.graph.links)
    if nameless:
        yield Problem(code=Code.LINK_WITHOUT_ID, message=f"{nameless} links have no id. Give each its own.")
    for ends, times in count_ends(checked.graph.links).items():
        if times > 1:
            message = (
                f"{times} links connect {ends[1][:80]!r} of {checked.title(ends[0])} and {ends[3][:80]!r} of "
                f"{checked.title(ends[2])}: the value arrives {times} times. Remove all but one."
            )
            yield Problem(code=Code.DUPLICATE_LINK, message=message, node_id=ends[2], pin=ends[3][:200])


def count_ends(links: Iterable[Link]) -> Counter[tuple[str, str, str, str]]:
    return Counter(ends_of(link) for link in links)


def ends_of(link: Link) -> tuple[str, str, str, str]:
    return link.source_id, link.source_name, link.sink_id, link.sink_name
