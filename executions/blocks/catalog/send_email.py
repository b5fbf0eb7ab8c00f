"""Send Email: one message over SMTP."""

from __future__ import annotations

import re

from boundary.destinations import Destination
from executions.blocks.base import Category, CredentialsNeed, Effects, Emissions, Leaves, block
from executions.blocks.context import BlockContext
from executions.blocks.errors import BlockFailed
from executions.blocks.examples import Example, World
from executions.blocks.families.accounts import need_credential, server_at
from executions.blocks.schema import (
    BlockInputs,
    BlockOutputs,
    Credentials,
    Integer,
    Pins,
    Text,
    credentials_pin,
    pin,
)
from executions.ports import Credential, Mail

PROVIDER = "smtp"
PORTS = (25, 465, 587, 2525)
ADDRESS = re.compile(r"[^@\s<>,;\"]{1,64}@[^@\s<>,;\"]{1,255}")


class SmtpConfig(Pins):
    """The mail server."""

    smtp_server: Text = pin(description="Its host name.")
    smtp_port: Integer = pin(25, description="25, 465, 587 or 2525.")


class Inputs(BlockInputs):
    to_email: Text = pin(description="Who gets it.")
    subject: Text = pin(description="The subject.")
    body: Text = pin(description="The text.")
    config: SmtpConfig = pin(description="The mail server: smtp_server and smtp_port.")
    credentials: Credentials = credentials_pin()


class Outputs(BlockOutputs):
    status: Text


LOGIN = Credential(id="c1", provider="smtp", username="me@example.com", password="not-a-real-one")  # noqa: S106
MESSAGE = {
    "to_email": "ada@example.com",
    "subject": "Hello",
    "body": "Hi Ada",
    "config": {"smtp_server": "smtp.example.com", "smtp_port": 587},
}
EXAMPLES = [
    Example(
        inputs=MESSAGE,
        outputs=[("status", "Email sent to ada@example.com.")],
        world=World(credentials=[LOGIN]),
    ),
    Example(inputs=MESSAGE, error="needs a smtp credential"),
    Example(
        inputs=MESSAGE | {"config": {"smtp_server": "smtp.example.com", "smtp_port": 22}},
        error="Use one of 25, 465, 587, 2525",
        world=World(credentials=[LOGIN]),
    ),
    Example(inputs=MESSAGE | {"to_email": "ada"}, error="no email address", world=World(credentials=[LOGIN])),
    Example(
        inputs=MESSAGE | {"subject": "Hi\nBcc: all@example.com"},
        error="line break",
        world=World(credentials=[LOGIN]),
    ),
    Example(
        inputs=MESSAGE,
        error="refused the login",
        world=World(credentials=[LOGIN], mail_error="The mail server refused the login."),
    ),
    Example(
        inputs=MESSAGE | {"config": {"smtp_port": 25}}, error="smtp_server", world=World(credentials=[LOGIN])
    ),
]


@block(
    id="4335878a-394e-4e67-adf2-919877ff49ae",
    name="Send Email",
    category=Category.OUTPUT,
    inputs=Inputs,
    outputs=Outputs,
    examples=EXAMPLES,
    effects=Effects.EFFECTFUL,
    reads_outside=False,
    leaves=Leaves.MESSAGE,
    sensitive=True,
    credentials=CredentialsNeed(provider=PROVIDER, kind="user_password"),
)
def send_email(inputs: Inputs, context: BlockContext) -> Emissions:
    """Sends one plain-text message through your own mail server."""
    if inputs.config.smtp_port not in PORTS:
        raise BlockFailed(
            f"Port {inputs.config.smtp_port} is not used for mail. Use one of {', '.join(map(str, PORTS))}."
        )
    if not ADDRESS.fullmatch(inputs.to_email.strip()):
        raise BlockFailed(f"{inputs.to_email[:100]!r} is no email address.")
    if "\n" in inputs.subject or "\r" in inputs.subject:
        raise BlockFailed("The subject has a line break. Write it on one line.")
    server = server_at(inputs.config.smtp_server, inputs.config.smtp_port)
    login = need_credential(PROVIDER, inputs.credentials, context, destination=server)
    context.ports.mail.send(make_mail(inputs, server, login, context))
    yield "status", f"Email sent to {inputs.to_email.strip()}."


def make_mail(inputs: Inputs, server: Destination, login: Credential, context: BlockContext) -> Mail:
    return Mail(
        sender=login.username,
        to=inputs.to_email.strip(),
        subject=inputs.subject,
        body=inputs.body,
        server=server.host,
        port=server.port,
        username=login.username,
        password=login.password,
        key=context.idempotency_key,
        ca_certificate=login.ca_certificate,
    )
