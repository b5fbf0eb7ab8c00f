"""Send Email: send a message over SMTP."""

import re

from blocks.base import Category, CredentialsNeed, Effects, Emissions, Leaves, block
from blocks.context import BlockContext
from blocks.errors import BlockFailed
from blocks.examples import Example, World
from blocks.ports import Credential, Mail
from blocks.schema import BlockInputs, BlockOutputs, Credentials, Integer, PinSet, Text, credentials_pin, pin
from blocks.support.credentials import need_credential, server_at
from boundary.policy import Destination

PROVIDER = "smtp"
PORTS = (25, 465, 587, 2525)
ADDRESS = re.compile(r"[^@\s<>,;\"]{1,64}@[^@\s<>,;\"]{1,255}")


class SmtpConfig(PinSet):
    """The mail server."""

    smtp_server: Text = pin(description="Host name of the mail server.")
    smtp_port: Integer = pin(25, description="25, 465, 587 or 2525.")


class Inputs(BlockInputs):
    to_email: Text = pin(description="Recipient.")
    subject: Text = pin(description="Subject line.")
    body: Text = pin(description="Text of the message.")
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
    Example(inputs=MESSAGE, error="needs a credential for smtp"),
    Example(
        inputs=MESSAGE | {"config": {"smtp_server": "smtp.example.com", "smtp_port": 22}},
        error="Use one of 25, 465, 587, 2525",
        world=World(credentials=[LOGIN]),
    ),
    Example(
        inputs=MESSAGE | {"to_email": "ada"}, error="not an email address", world=World(credentials=[LOGIN])
    ),
    Example(
        inputs=MESSAGE | {"subject": "Hi\nBcc: all@example.com"},
        error="line break",
        world=World(credentials=[LOGIN]),
    ),
    Example(
        inputs=MESSAGE,
        error="rejected the login",
        world=World(credentials=[LOGIN], mail_error="The mail server rejected the login."),
    ),
    Example(
        inputs=MESSAGE | {"config": {"smtp_port": 25}}, error="smtp_server", world=World(credentials=[LOGIN])
    ),
]


@block(
    id="4335878a-394e-4e67-adf2-919877ff49ae",
    name="Send Email",
    category=Category.OUTPUT,
    outputs=Outputs,
    examples=EXAMPLES,
    effects=Effects.EFFECTFUL,
    reads_outside=False,
    leaves=Leaves.MESSAGE,
    sensitive=True,
    credentials=CredentialsNeed(provider=PROVIDER, kind="user_password"),
)
def send_email(inputs: Inputs, context: BlockContext) -> Emissions:
    """Send a plain-text email through your own mail server."""
    if inputs.config.smtp_port not in PORTS:
        raise BlockFailed(
            f"Port {inputs.config.smtp_port} is not used for mail. Use one of {', '.join(map(str, PORTS))}."
        )
    if not ADDRESS.fullmatch(inputs.to_email.strip()):
        raise BlockFailed(f"{inputs.to_email[:100]!r} is not an email address.")
    if "\n" in inputs.subject or "\r" in inputs.subject:
        raise BlockFailed("The subject must not contain line breaks.")
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
