"""The difference of two graphs: added, removed and changed nodes and links."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from blocks.schema import JSON
from executions.graph import Graph, Link, Node, link_to_json, node_to_json


@dataclass(frozen=True, kw_only=True)
class Change:
    """One changed field: its path, before and after; None where it is absent."""

    field: str
    before: JSON
    after: JSON

    def as_json(self) -> dict[str, Any]:
        return {"field": self.field, "before": self.before, "after": self.after}


@dataclass(frozen=True, kw_only=True)
class Changed:
    """A changed node or link, with its changed fields."""

    id: str
    changes: tuple[Change, ...]

    def as_json(self) -> dict[str, Any]:
        return {"id": self.id, "changes": [change.as_json() for change in self.changes]}


@dataclass(frozen=True, kw_only=True)
class Difference:
    """The added, removed and changed parts of one kind."""

    added: tuple[dict[str, JSON], ...]
    removed: tuple[dict[str, JSON], ...]
    changed: tuple[Changed, ...]

    def as_json(self) -> dict[str, Any]:
        changed = [one.as_json() for one in self.changed]
        return {"added": list(self.added), "removed": list(self.removed), "changed": changed}

    def __bool__(self) -> bool:
        return bool(self.added or self.removed or self.changed)


@dataclass(frozen=True, kw_only=True)
class GraphDifference:
    """All changes from one graph to another."""

    nodes: Difference
    links: Difference
    graph: tuple[Change, ...]  # fields of the graph itself

    def as_json(self) -> dict[str, Any]:
        return {
            "nodes": self.nodes.as_json(),
            "links": self.links.as_json(),
            "graph": [change.as_json() for change in self.graph],
        }

    def __bool__(self) -> bool:
        return bool(self.nodes or self.links or self.graph)


def compare(before: Graph, after: Graph) -> GraphDifference:
    """Return the changes from `before` to `after`; the version number is not one."""
    own = [
        {"is_active": graph.is_active, "name": graph.name, "description": graph.description, **graph.extra}
        for graph in (before, after)
    ]
    return GraphDifference(
        nodes=compare_parts(*(by_id(graph.nodes) for graph in (before, after))),
        links=compare_parts(*(by_id(graph.links) for graph in (before, after))),
        graph=tuple(compare_fields(own[0], own[1])),
    )


def by_id(parts: Sequence[Node | Link]) -> dict[str, dict[str, JSON]]:
    """Return each part as JSON by id; later parts with the same id get a number."""
    found: dict[str, dict[str, JSON]] = {}
    for number, part in enumerate(parts):
        key = part.id if part.id and part.id not in found else f"{part.id}#{number}"
        found[key] = node_to_json(part) if isinstance(part, Node) else link_to_json(part)
    return found


def compare_parts(before: Mapping[str, dict[str, JSON]], after: Mapping[str, dict[str, JSON]]) -> Difference:
    both = [key for key in before if key in after and before[key] != after[key]]
    return Difference(
        added=tuple(part for key, part in after.items() if key not in before),
        removed=tuple(part for key, part in before.items() if key not in after),
        changed=tuple(
            Changed(id=key, changes=tuple(compare_fields(before[key], after[key]))) for key in both
        ),
    )


OPENED = ("input_default", "metadata")  # compared key by key


def compare_fields(before: Mapping[str, JSON], after: Mapping[str, JSON]) -> list[Change]:
    changes: list[Change] = []
    for name in dict.fromkeys([*before, *after]):
        old, new = before.get(name), after.get(name)
        if name in OPENED and isinstance(old, Mapping) and isinstance(new, Mapping):
            inner = compare_fields(old, new)
            changes += [
                Change(field=f"{name}.{one.field}", before=one.before, after=one.after) for one in inner
            ]
        elif old != new or (name in before) != (name in after):
            changes.append(Change(field=name, before=old, after=new))
    return changes
