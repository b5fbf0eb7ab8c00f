"""Send Web Request: send an HTTP request."""

from blocks.base import Category, Effects, Emissions, block, repeatable_by_key
from blocks.context import BlockContext
from blocks.examples import Example, ExamplePage, World
from blocks.support.web_requests import AnswerPins, RequestFields, leaves_by_method, send

API = "https://api.example.com/items"
EXAMPLES = [
    Example(
        inputs={"url": API, "body": {"name": "Ada"}},
        outputs=[("response", {"id": 1})],
        world=World(pages={API: ExamplePage(body='{"id": 1}', media_type="application/json")}),
    ),
    Example(
        inputs={"url": API, "method": "GET"},
        outputs=[("response", "plain text")],
        world=World(pages={API: ExamplePage(body="plain text", media_type="text/plain")}),
    ),
    Example(
        inputs={"url": API, "body": "just text"},
        outputs=[("client_error", {"error": "no such field: value"})],
        note="text is sent as {value: text}; 4xx responses are emitted on client_error",
        world=World(
            pages={
                API: ExamplePage(
                    status=422, body='{"error": "no such field: value"}', media_type="application/json"
                )
            }
        ),
    ),
    Example(
        inputs={"url": API},
        outputs=[("server_error", "down")],
        world=World(pages={API: ExamplePage(status=503, body="down")}),
    ),
    Example(inputs={"url": API}, error="could not be found"),
    Example(inputs={"url": API, "files": ["data:,x"]}, error="Switch `json_format` off"),
    Example(inputs={"url": API, "method": "BREW"}, error="Use one of: GET, POST"),
]


@block(
    id="6595ae1f-b924-42cb-9a41-551a0611c4b4",
    name="Send Web Request",
    category=Category.OUTPUT,
    outputs=AnswerPins,
    examples=EXAMPLES,
    effects=Effects.EFFECTFUL,
    reads_outside=True,
    leaves=leaves_by_method,
    repeatable=repeatable_by_key,
)
def send_web_request(inputs: RequestFields, context: BlockContext) -> Emissions:
    """Send an HTTP request to a public address and emit the response on the pin for its status."""
    return send(inputs, inputs.headers, context)
