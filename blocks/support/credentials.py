"""Look up a block's credential: the one chosen on the node, else the one for the provider and server."""

from __future__ import annotations

from functools import partial

from blocks.context import BlockContext
from blocks.errors import BlockFailed, CredentialsMissing
from blocks.ports import Credential, CredentialUnbound, ReviewQuestion
from blocks.schema import Object
from boundary.errors import BlockedUrl
from boundary.policy import Destination, destination_of, read_destination


def find_credential(
    provider: str, chosen: Object | None, context: BlockContext, *, destination: Destination | None = None
) -> Credential | None:
    """Return the credential to send to `destination`, or None.

    If the chosen credential is not bound to a server yet, its owner is asked in a review to bind it to this one; raises
    ParkedForReview until then.
    """
    credentials_id = str((chosen or {}).get("id") or "")
    find = partial(
        context.ports.credentials.find, provider, credentials_id=credentials_id, destination=destination
    )
    try:
        return find()
    except CredentialUnbound as unbound:
        if not credentials_id or destination is None:
            raise
        ask_to_bind(unbound, destination, context)
        return find()


def find_credential_for_url(
    provider: str, chosen: Object | None, url: str, context: BlockContext
) -> Credential | None:
    """Return the credential to send to the server of a URL, or None; a malformed URL is reported by the request."""
    try:
        destination = destination_of(url)
    except BlockedUrl:
        return None
    return find_credential(provider, chosen, context, destination=destination)


def need_credential(
    provider: str, chosen: Object | None, context: BlockContext, *, destination: Destination | None = None
) -> Credential:
    """Return the credential to send to `destination`; raise CredentialsMissing if there is none."""
    credential = find_credential(provider, chosen, context, destination=destination)
    if credential is None:
        raise CredentialsMissing(provider)
    return credential


def ask_to_bind(unbound: CredentialUnbound, destination: Destination, context: BlockContext) -> None:
    """Ask the owner whether the credential may be sent there, whatever the safe mode, and bind it."""
    asked = {
        "credential": unbound.title,
        "credential_id": unbound.credentials_id,
        "host": destination.host,
        "port": destination.port,
        "after_approval": "The credential will be bound to this server and sent to no other.",
    }
    question = ReviewQuestion(name=f"Send {unbound.title} to {destination}?", data=asked, editable=False)
    decision = context.ports.reviews.decide(question, context.key("bind-credential"))
    if not decision.approved or decision.data != asked:
        reason = f": {decision.message}" if decision.message else "."
        raise BlockFailed(f"{unbound.title} was not approved for {destination}{reason}")
    context.ports.credentials.bind(unbound.credentials_id, destination)


def server_at(host: str, port: int) -> Destination:
    """Return the server at a host and port; raise BlockFailed if it is invalid."""
    try:
        return read_destination(host, port)
    except BlockedUrl as error:
        raise BlockFailed(f"The server cannot be used: {error}") from error
