"""Extract Website Content: the readable text of a web page."""

from blocks.base import Category, CredentialsNeed, Effects, Emissions, Leaves, block
from blocks.context import BlockContext
from blocks.errors import BlockFailed
from blocks.examples import Example, ExamplePage, World
from blocks.schema import BlockInputs, BlockOutputs, Boolean, Credentials, Text, credentials_pin, pin
from boundary.http import OutboundRequest
from boundary.readable import decode_text, make_readable


class Inputs(BlockInputs):
    credentials: Credentials = credentials_pin()
    url: Text = pin(description="URL of the page.")
    raw_content: Boolean = pin(
        False, description="Return the raw content instead of readable text.", advanced=True
    )


class Outputs(BlockOutputs):
    content: Text


URL = "https://example.com/"
PAGE = ExamplePage(body="<html><body><h1>Hi</h1><p>A <b>page</b>.</p></body></html>")
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
    Example(
        inputs={"url": URL}, error="returned status 500", world=World(pages={URL: ExamplePage(status=500)})
    ),
    Example(inputs={"url": URL}, error="is empty", world=World(pages={URL: ExamplePage(body=" ")})),
    Example(
        inputs={"url": URL},
        error="cannot be shown as text",
        world=World(pages={URL: ExamplePage(body=b"\x89PNG", media_type="image/png")}),
    ),
]


@block(
    id="436c3984-57fd-4b85-8e9a-459b356883bd",
    name="Extract Website Content",
    category=Category.SEARCH,
    outputs=Outputs,
    examples=EXAMPLES,
    effects=Effects.NETWORK,
    reads_outside=True,
    leaves=Leaves.ADDRESS,
    credentials=CredentialsNeed(
        provider="jina", kind="api_key", required=False, note="not needed: pages are read locally"
    ),
)
def extract_website_content(inputs: Inputs, context: BlockContext) -> Emissions:
    """Fetch a web page and return its readable text, or its raw content."""
    response = context.ports.http.fetch(OutboundRequest(url=inputs.url.strip()))
    if response.status >= 400:
        raise BlockFailed(f"The server returned status {response.status} for this page.")
    if inputs.raw_content:
        content = decode_text(response.body, response.charset)
    else:
        content = make_readable(
            response.body, media_type=response.media_type, charset=response.charset, url=response.url
        ).text
    if not content.strip():
        raise BlockFailed("The page is empty, or shows its content only with JavaScript.")
    yield "content", content
