"""Get Wikipedia Summary: the introduction of an article."""

from urllib.parse import quote

from blocks.base import Category, Effects, Emissions, Leaves, block
from blocks.context import BlockContext
from blocks.errors import BlockFailed
from blocks.examples import Example, ExamplePage, World
from blocks.schema import BlockInputs, BlockOutputs, Text, pin
from blocks.support.web_requests import read_body
from boundary.http import OutboundRequest

SUMMARY_URL = "https://en.wikipedia.org/api/rest_v1/page/summary/"


class Inputs(BlockInputs):
    topic: Text = pin(description="Title of the article.")


class Outputs(BlockOutputs):
    summary: Text


ADA = SUMMARY_URL + "Ada%20Lovelace"
EXAMPLES = [
    Example(
        inputs={"topic": "Ada Lovelace"},
        outputs=[("summary", "Ada Lovelace was a mathematician.")],
        world=World(
            pages={
                ADA: ExamplePage(
                    body='{"extract": "Ada Lovelace was a mathematician."}', media_type="application/json"
                )
            }
        ),
    ),
    Example(
        inputs={"topic": "Ada Lovelace"},
        error="has no article",
        world=World(pages={ADA: ExamplePage(status=404, body="{}", media_type="application/json")}),
    ),
    Example(inputs={"topic": "Ada Lovelace"}, error="could not be found", note="no network"),
    Example(inputs={"topic": " "}, error="`topic` is empty"),
]


@block(
    id="f5b0f5d0-1862-4d61-94be-3ad0fa772760",
    name="Get Wikipedia Summary",
    category=Category.SEARCH,
    outputs=Outputs,
    examples=EXAMPLES,
    effects=Effects.NETWORK,
    reads_outside=True,
    leaves=Leaves.NOTHING,
)
def get_wikipedia_summary(inputs: Inputs, context: BlockContext) -> Emissions:
    """Fetch the summary of an English Wikipedia article."""
    topic = inputs.topic.strip()
    if not topic:
        raise BlockFailed("`topic` is empty. Give the title of an article.")
    response = context.ports.http.fetch(OutboundRequest(url=SUMMARY_URL + quote(topic, safe="")))
    body = read_body(response)
    extract = body.get("extract") if isinstance(body, dict) else None
    if response.status >= 400 or not isinstance(extract, str) or not extract:
        raise BlockFailed(
            f"Wikipedia has no article on {topic[:100]!r} (status {response.status}). Check the title."
        )
    yield "summary", extract
