"""Extract Website Content: a page as text."""

from __future__ import annotations

from boundary.errors import FetchError, ParserError, UnreadablePage
from boundary.http import OutboundRequest
from boundary.readable import decode_text, make_readable
from executions.blocks.base import Category, CredentialsNeed, Effects, Emissions, Leaves, block
from executions.blocks.context import BlockContext
from executions.blocks.errors import BlockFailed
from executions.blocks.examples import Example, Page, World
from executions.blocks.schema import (
    BlockInputs,
    BlockOutputs,
    Boolean,
    Credentials,
    Text,
    credentials_pin,
    pin,
)


class Inputs(BlockInputs):
    credentials: Credentials = credentials_pin()
    url: Text = pin(description="The page's URL.")
    raw_content: Boolean = pin(False, description="The page as it is, not as readable text.", advanced=True)


class Outputs(BlockOutputs):
    content: Text


URL = "https://example.com/"
PAGE = Page(body="<html><body><h1>Hi</h1><p>A <b>page</b>.</p></body></html>")
EXAMPLES = [
    Example(
        inputs={"url": URL}, outputs=[("content", "# Hi\n\nA **page**.")], world=World(pages={URL: PAGE})
    ),
    Example(
        inputs={"url": URL, "raw_content": True},
        outputs=[("content", PAGE.body)],
        world=World(pages={URL: PAGE}),
    ),
    Example(inputs={"url": URL}, error="could not be found"),
    Example(inputs={"url": URL}, error="answered 500", world=World(pages={URL: Page(status=500)})),
    Example(inputs={"url": URL}, error="is empty", world=World(pages={URL: Page(body=" ")})),
    Example(
        inputs={"url": URL},
        error="cannot be shown as text",
        world=World(pages={URL: Page(body=b"\x89PNG", media_type="image/png")}),
    ),
]


@block(
    id="436c3984-57fd-4b85-8e9a-459b356883bd",
    name="Extract Website Content",
    category=Category.SEARCH,
    inputs=Inputs,
    outputs=Outputs,
    examples=EXAMPLES,
    effects=Effects.NETWORK,
    reads_outside=True,
    leaves=Leaves.ADDRESS,
    credentials=CredentialsNeed(
        provider="jina", kind="api_key", required=False, note="not needed: read locally"
    ),
)
def extract_website_content(inputs: Inputs, context: BlockContext) -> Emissions:
    """Fetches a web page and emits its readable text, or the page as it is."""
    try:
        response = context.ports.http.fetch(OutboundRequest(url=inputs.url.strip()))
        if response.status >= 400:
            raise BlockFailed(f"The server answered {response.status} for this page.")
        if inputs.raw_content:
            content = decode_text(response.body, response.charset)
        else:
            page = make_readable(
                response.body, media_type=response.media_type, charset=response.charset, url=response.url
            )
            content = page.text
    except (FetchError, ParserError, UnreadablePage) as error:
        raise BlockFailed(str(error)) from error
    if not content.strip():
        raise BlockFailed("The page is empty, or shows nothing without scripts.")
    yield "content", content
