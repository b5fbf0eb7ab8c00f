"""Search The Web: search the web."""

from decimal import Decimal

from blocks.base import Category, Cost, CredentialsNeed, Effects, Emissions, Leaves, block
from blocks.context import BlockContext
from blocks.errors import BlockFailed
from blocks.examples import Example, World
from blocks.ports import SearchHit
from blocks.schema import BlockInputs, BlockOutputs, Credentials, Text, credentials_pin, pin


class Inputs(BlockInputs):
    credentials: Credentials = credentials_pin()
    query: Text = pin(description="The search query.")


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
    Example(inputs={"query": "nothing"}, outputs=[("results", "No results for 'nothing'.")]),
    Example(inputs={"query": " "}, error="`query` is empty"),
]


@block(
    id="87840993-2053-44b7-8da4-187ad4ee518c",
    name="Search The Web",
    category=Category.SEARCH,
    outputs=Outputs,
    examples=EXAMPLES,
    effects=Effects.NETWORK,
    reads_outside=True,
    leaves=Leaves.NOTHING,
    cost=Cost(per_run=Decimal("0.001")),
    credentials=CredentialsNeed(
        provider="search", kind="api_key", required=False, note="otherwise the platform's search is used"
    ),
)
def search_the_web(inputs: Inputs, context: BlockContext) -> Emissions:
    """Search the web and return the results as text."""
    query = inputs.query.strip()
    if not query:
        raise BlockFailed("`query` is empty.")
    hits = context.ports.search.search(query)
    context.meter.add(items=len(hits))
    entries = [write_hit(number, hit) for number, hit in enumerate(hits, start=1)]
    yield "results", "\n\n".join(entries) or f"No results for {query[:100]!r}."


def write_hit(number: int, hit: SearchHit) -> str:
    lines = [f"{number}. {hit.title}", f"   {hit.url}"]
    return "\n".join(lines + ([f"   {hit.snippet}"] if hit.snippet else []))
