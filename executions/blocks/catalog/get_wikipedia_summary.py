"""Get Wikipedia Summary: the first lines of an article."""

from __future__ import annotations

from urllib.parse import quote

from boundary.errors import FetchError
from boundary.http import OutboundRequest
from executions.blocks.base import Category, Effects, Emissions, Leaves, block
from executions.blocks.context import BlockContext
from executions.blocks.errors import BlockFailed
from executions.blocks.examples import Example, Page, World
from executions.blocks.families.web_requests import read_body
from executions.blocks.schema import BlockInputs, BlockOutputs, Text, pin

SUMMARY_URL = "https://en.wikipedia.org/api/rest_v1/page/summary/"


class Inputs(BlockInputs):
    topic: Text = pin(description="The title of the article.")


class Outputs(BlockOutputs):
    summary: Text


ADA = SUMMARY_URL + "Ada%20Lovelace"
EXAMPLES = [
    Example(
        inputs={"topic": "Ada Lovelace"},
        outputs=[("summary", "Ada Lovelace was a mathematician.")],
        world=World(
            pages={
                ADA: Page(
                    body='{"extract": "Ada Lovelace was a mathematician."}', media_type="application/json"
                )
            }
        ),
    ),
    Example(
        inputs={"topic": "Ada Lovelace"},
        error="has no article",
        world=World(pages={ADA: Page(status=404, body="{}", media_type="application/json")}),
    ),
    Example(inputs={"topic": "Ada Lovelace"}, error="could not be found", note="no network"),
    Example(inputs={"topic": " "}, error="`topic` is empty"),
]


@block(
    id="f5b0f5d0-1862-4d61-94be-3ad0fa772760",
    name="Get Wikipedia Summary",
    category=Category.SEARCH,
    inputs=Inputs,
    outputs=Outputs,
    examples=EXAMPLES,
    effects=Effects.NETWORK,
    reads_outside=True,
    leaves=Leaves.NOTHING,
)
def get_wikipedia_summary(inputs: Inputs, context: BlockContext) -> Emissions:
    """Fetches the summary of an article of the English Wikipedia."""
    topic = inputs.topic.strip()
    if not topic:
        raise BlockFailed("`topic` is empty. Give the title of an article.")
    try:
        response = context.ports.http.fetch(OutboundRequest(url=SUMMARY_URL + quote(topic, safe="")))
    except FetchError as error:
        raise BlockFailed(str(error)) from error
    body = read_body(response)
    extract = body.get("extract") if isinstance(body, dict) else None
    if response.status >= 400 or not isinstance(extract, str) or not extract:
        raise BlockFailed(f"Wikipedia has no article on {topic[:100]!r} (it answered {response.status}).")
    yield "summary", extract
