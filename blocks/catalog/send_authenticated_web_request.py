"""Send Authenticated Web Request: send an HTTP request with stored headers."""

from blocks.base import Category, CredentialsNeed, Effects, Emissions, block, repeatable_by_key
from blocks.context import BlockContext
from blocks.examples import Example, ExamplePage, World
from blocks.ports import Credential
from blocks.schema import Credentials, credentials_pin
from blocks.support.credentials import find_credential_for_url
from blocks.support.web_requests import AnswerPins, RequestFields, leaves_by_method, send

PROVIDER = "http"


class Inputs(RequestFields):
    credentials: Credentials = credentials_pin()


API = "https://api.example.com/me"
KEPT = Credential(id="c1", provider="http:api.example.com", headers={"Authorization": "Bearer secret"})
EXAMPLES = [
    Example(
        inputs={"url": API, "method": "GET"},
        outputs=[("response", {"name": "Ada"})],
        note="the headers stored for api.example.com are added",
        world=World(
            credentials=[KEPT],
            pages={API: ExamplePage(body='{"name": "Ada"}', media_type="application/json")},
        ),
    ),
    Example(
        inputs={"url": API, "method": "GET"},
        outputs=[("client_error", "who are you?")],
        note="without stored headers for the host, nothing is added",
        world=World(pages={API: ExamplePage(status=401, body="who are you?")}),
    ),
    Example(inputs={"url": API}, error="could not be found", world=World(credentials=[KEPT])),
]


@block(
    id="fff86bcd-e001-4bad-a7f6-2eae4720c8dc",
    name="Send Authenticated Web Request",
    category=Category.OUTPUT,
    outputs=AnswerPins,
    examples=EXAMPLES,
    effects=Effects.EFFECTFUL,
    reads_outside=True,
    leaves=leaves_by_method,
    repeatable=repeatable_by_key,
    credentials=CredentialsNeed(provider=PROVIDER, kind="host_scoped", required=False),
)
def send_authenticated_web_request(inputs: Inputs, context: BlockContext) -> Emissions:
    """Send an HTTP request with the headers stored for its host, over https only. Headers set here take precedence."""
    return send(inputs, add_stored_headers(inputs, context), context)


def add_stored_headers(inputs: Inputs, context: BlockContext) -> dict[str, str]:
    credential = find_credential_for_url(PROVIDER, inputs.credentials, inputs.url, context)
    given = {name.lower() for name in inputs.headers}
    kept = credential.headers if credential else {}
    return {name: value for name, value in kept.items() if name.lower() not in given} | inputs.headers
