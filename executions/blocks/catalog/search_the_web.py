"""Search The Web: what a search engine finds."""

from __future__ import annotations

from decimal import Decimal

from executions.blocks.base import Category, Cost, CredentialsNeed, Effects, Emissions, Leaves, block
from executions.blocks.context import BlockContext
from executions.blocks.errors import BlockFailed
from executions.blocks.examples import Example, World
from executions.blocks.schema import BlockInputs, BlockOutputs, Credentials, Text, credentials_pin, pin
from executions.ports import SearchHit


class Inputs(BlockInputs):
    credentials: Credentials = credentials_pin()
    query: Text = pin(description="What to look for.")


class Outputs(BlockOutputs):
    results: Text


HITS = [
    SearchHit(title="Cats", url="https://example.com/cats", snippet="All about cats."),
    SearchHit(title="More cats", url="https://example.com/more", snippet=""),
]
EXAMPLES = [
    Example(
        inputs={"query": "cats"},
        outputs=[
            (
                "results",
                "1. Cats\n   https://example.com/cats\n   All about cats.\n\n2. More cats\n   https://example.com/more",
            )
        ],
        world=World(hits=HITS),
    ),
    Example(inputs={"query": "nothing"}, outputs=[("results", "Nothing was found for 'nothing'.")]),
    Example(inputs={"query": " "}, error="`query` is empty"),
]


@block(
    id="87840993-2053-44b7-8da4-187ad4ee518c",
    name="Search The Web",
    category=Category.SEARCH,
    inputs=Inputs,
    outputs=Outputs,
    examples=EXAMPLES,
    effects=Effects.NETWORK,
    reads_outside=True,
    leaves=Leaves.NOTHING,
    cost=Cost(per_run=Decimal("0.001")),
    credentials=CredentialsNeed(
        provider="search", kind="api_key", required=False, note="the platform's own search is used"
    ),
)
def search_the_web(inputs: Inputs, context: BlockContext) -> Emissions:
    """Searches the web and emits the hits as text."""
    query = inputs.query.strip()
    if not query:
        raise BlockFailed("`query` is empty.")
    hits = context.ports.search.search(query)
    context.meter.add(items=len(hits))
    entries = [write_hit(number, hit) for number, hit in enumerate(hits, start=1)]
    yield "results", "\n\n".join(entries) or f"Nothing was found for {query[:100]!r}."


def write_hit(number: int, hit: SearchHit) -> str:
    lines = [f"{number}. {hit.title}", f"   {hit.url}"]
    return "\n".join(lines + ([f"   {hit.snippet}"] if hit.snippet else []))
