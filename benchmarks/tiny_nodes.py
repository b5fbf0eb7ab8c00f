"""Tiny nodes in one graph: run by the engine, called directly, and inserted as bare rows; also a program of its own.

python -m benchmarks.tiny_nodes ITEMS prints the figures as JSON, for a database that another process chose.
"""

from __future__ import annotations

import json
import os
import sys
import time
import uuid
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import django

NODES_PER_ITEM = 2


@dataclass(frozen=True, kw_only=True)
class Figures:
    """Nodes per second of wall time, and microseconds of CPU per node."""

    per_second: float
    cpu: float


def measure(work: Callable[[], int]) -> Figures:
    wall, cpu = time.perf_counter(), time.process_time()
    count = work()
    return Figures(
        per_second=count / (time.perf_counter() - wall), cpu=(time.process_time() - cpu) / count * 1e6
    )


class TinyNodes:
    """Return a graph with a list of items, and an addition and an output for each."""

    def __init__(self, items: int) -> None:
        from accounts.models import User
        from executions.models import Agent, AgentVersion

        self.items = items
        self.user, _ = User.objects.get_or_create(username="bench")
        self.agent = Agent.objects.create(user=self.user, name="tiny nodes", latest_version=1)
        AgentVersion.objects.create(agent=self.agent, version=1, graph=graph_of(items))

    def by_the_engine(self) -> int:
        from durable import jobs
        from executions.engine import run_attempt
        from executions.models import Execution

        execution = Execution.objects.create(user=self.user, agent=self.agent, version=1, status="QUEUED")
        lease = jobs.claim(Execution, execution.pk, owner="bench")
        assert lease is not None
        run_attempt.run(lease)
        done = Execution.objects.get(pk=execution.pk)
        assert done.outputs["y"] == [item + 1 for item in range(self.items)], done.error
        return done.nodes.count()

    def by_calling(self) -> int:
        """Call the same blocks on the same values, without the engine."""
        from blocks.registry import get_registry
        from blocks.run import run_block
        from tests.blocks.doubles import make_context

        add, output = (get_registry().get_by_name(name) for name in ("Calculator", "Agent Output"))
        context = make_context()
        for item in range(self.items):
            [(_, value)] = run_block(add, {"operation": "Add", "b": 1, "a": item}, context)
            list(run_block(output, {"name": "y", "value": value}, context))
        return self.items * NODES_PER_ITEM

    def by_inserting(self) -> int:
        """Insert as many rows in one statement, the lower bound for any engine that commits."""
        from executions.models import Execution, NodeExecution

        execution = Execution.objects.create(user=self.user, agent=self.agent, version=1, status="COMPLETED")
        rows = [
            NodeExecution(
                id=uuid.uuid4(),
                execution=execution,
                node_id="sum",
                block_id="b",
                run=number,
                seq=number,
                status="COMPLETED",
                inputs={"operation": "Add", "b": 1, "a": number},
                outputs=[["result", number]],
            )
            for number in range(self.items * NODES_PER_ITEM)
        ]
        NodeExecution.objects.bulk_create(rows, 500)
        return len(rows)


def graph_of(items: int) -> dict[str, Any]:
    from blocks.registry import get_registry

    def node(node_id: str, block: str, **values: Any) -> dict[str, Any]:
        return {"id": node_id, "block_id": get_registry().get_by_name(block).id, "input_default": values}

    def link(source: str, pin: str, sink: str, sink_pin: str) -> dict[str, Any]:
        ends = {"source_id": source, "source_name": pin, "sink_id": sink, "sink_name": sink_pin}
        return {"id": f"{source}-{sink}", "is_static": False, **ends}

    return {
        "nodes": [
            node("items", "Step Through Items", items=list(range(items))),
            node("sum", "Calculator", operation="Add", b=1),
            node("out", "Agent Output", name="y"),
        ],
        "links": [link("items", "item", "sum", "a"), link("sum", "result", "out", "value")],
    }


def main(items: int) -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "copilot_project.settings")
    django.setup()
    tiny = TinyNodes(items)
    tiny.by_the_engine()  # connections, caches, first imports
    found = {
        "engine": asdict(measure(tiny.by_the_engine)),
        "insert": asdict(measure(tiny.by_inserting)),
    }
    print("FIGURES " + json.dumps(found), flush=True)
    os._exit(0)  # threads of the product are daemons; nothing is waited for


if __name__ == "__main__":
    main(int(sys.argv[1]))
