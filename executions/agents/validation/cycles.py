"""Checks for cycles: nodes that can never run because they wait for each other."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator

from executions.agents.validation.problems import Code, Problem
from executions.agents.validation.scope import Checked
from executions.graph import Link

SHOWN_NODES = 10


def check_starting(checked: Checked) -> Iterator[Problem]:
    """Yield a problem for each cycle of nodes that nothing outside it starts."""
    stuck = stuck_nodes(checked)
    for circle in find_circles(checked, stuck):
        names = ", ".join(checked.title(node_id) for node_id in circle[:SHOWN_NODES])
        more = f" and {len(circle) - SHOWN_NODES} more" if len(circle) > SHOWN_NODES else ""
        what = f"{names}{more} wait for each other" if len(circle) > 1 else f"{names} waits for itself"
        advice = "Link one of the waiting inputs to a node outside the cycle as well."
        message = f"{what}, so none of them ever runs. {advice}"
        yield Problem(code=Code.CANNOT_START, message=message, node_id=circle[0])


def stuck_nodes(checked: Checked) -> set[str]:
    """Return the nodes with a linked pin that no runnable node feeds."""
    links = list(waited_links(checked))
    pins_left: dict[str, set[str]] = {}
    fed: dict[str, list[Link]] = {}
    for link in links:
        pins_left.setdefault(link.sink_id, set()).add(link.sink_name)
        fed.setdefault(link.source_id, []).append(link)
    running = deque(node_id for node_id in checked.graph.nodes_by_id if node_id not in pins_left)
    while running:
        for link in fed.get(running.popleft(), ()):
            left = pins_left.get(link.sink_id)
            if left is None:
                continue
            left.discard(link.sink_name)
            if not left:
                del pins_left[link.sink_id]
                running.append(link.sink_id)
    return set(pins_left)


def waited_links(checked: Checked) -> Iterator[Link]:
    """Yield the links a node waits for before its first run."""
    for link in checked.joined_links():
        block = checked.blocks.get(link.sink_id)
        if block is None or link.sink.pin not in block.loop_inputs:
            yield link


def find_circles(checked: Checked, stuck: set[str]) -> list[list[str]]:
    """Return the cycles among stuck nodes, each in graph order, without the nodes that only follow a cycle."""
    knotted = drop_ends(checked, stuck)
    circles: list[list[str]] = []
    seen: set[str] = set()
    order = order_of(checked)
    for node_id in checked.graph.nodes_by_id:
        if node_id in knotted and node_id not in seen:
            circles.append(sorted(reach(checked, node_id, knotted, seen), key=order))
    return circles


def drop_ends(checked: Checked, stuck: set[str]) -> set[str]:
    """Return the stuck nodes without those that lead to no cycle."""
    graph = checked.graph
    leads_to = {id: {link.sink_id for link in graph.links_from(id) if link.sink_id in stuck} for id in stuck}
    ends = deque(node_id for node_id, following in leads_to.items() if not following)
    while ends:
        end = ends.popleft()
        del leads_to[end]
        for source in {link.source_id for link in graph.links_into(end)} & leads_to.keys():
            leads_to[source].discard(end)
            if not leads_to[source]:
                ends.append(source)
    return set(leads_to)


def reach(checked: Checked, start: str, among: set[str], seen: set[str]) -> list[str]:
    """Return the nodes connected to one, along links in either direction."""
    found, waiting = [], [start]
    seen.add(start)
    while waiting:
        node_id = waiting.pop()
        found.append(node_id)
        links = (*checked.graph.links_from(node_id), *checked.graph.links_into(node_id))
        joined = {link.sink_id for link in links} | {link.source_id for link in links}
        fresh = (joined & among) - seen
        seen |= fresh
        waiting.extend(fresh)
    return found


def order_of(checked: Checked) -> Callable[[str], int]:
    places = {node_id: place for place, node_id in enumerate(checked.graph.nodes_by_id)}
    return places.__getitem__
