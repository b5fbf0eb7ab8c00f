"""Send Authenticated Web Request: one HTTP call with the headers kept for the host."""

from __future__ import annotations

from executions.blocks.base import Category, CredentialsNeed, Effects, Emissions, block, under_its_key
from executions.blocks.context import BlockContext
from executions.blocks.examples import Example, Page, World
from executions.blocks.families.accounts import find_credential, server_of_url
from executions.blocks.families.web_requests import AnswerPins, RequestFields, leaves_by_method, send
from executions.blocks.schema import Credentials, credentials_pin
from executions.ports import Credential

PROVIDER = "http"


class Inputs(RequestFields):
    credentials: Credentials = credentials_pin()


API = "https://api.example.com/me"
KEPT = Credential(id="c1", provider="http:api.example.com", headers={"Authorization": "Bearer secret"})
EXAMPLES = [
    Example(
        inputs={"url": API, "method": "GET"},
        outputs=[("response", {"name": "Ada"})],
        note="the headers kept for api.example.com are sent along",
        world=World(
            credentials=[KEPT], pages={API: Page(body='{"name": "Ada"}', media_type="application/json")}
        ),
    ),
    Example(
        inputs={"url": API, "method": "GET"},
        outputs=[("client_error", "who are you?")],
        note="nothing is kept for the host: nothing is added",
        world=World(pages={API: Page(status=401, body="who are you?")}),
    ),
    Example(inputs={"url": API}, error="could not be found", world=World(credentials=[KEPT])),
]


@block(
    id="fff86bcd-e001-4bad-a7f6-2eae4720c8dc",
    name="Send Authenticated Web Request",
    category=Category.OUTPUT,
    inputs=Inputs,
    outputs=AnswerPins,
    examples=EXAMPLES,
    effects=Effects.EFFECTFUL,
    reads_outside=True,
    leaves=leaves_by_method,
    repeatable=under_its_key,
    credentials=CredentialsNeed(provider=PROVIDER, kind="host_scoped", required=False),
)
def send_authenticated_web_request(inputs: Inputs, context: BlockContext) -> Emissions:
    """Makes one HTTP request with the headers you keep for its host, over https only; headers given here win."""
    return send(inputs, add_kept_headers(inputs, context), context)


def add_kept_headers(inputs: Inputs, context: BlockContext) -> dict[str, str]:
    server = server_of_url(inputs.url)
    credential = (
        find_credential(PROVIDER, inputs.credentials, context, destination=server) if server else None
    )
    given = {name.lower() for name in inputs.headers}
    kept = credential.headers if credential else {}
    return {name: value for name, value in kept.items() if name.lower() not in given} | inputs.headers
