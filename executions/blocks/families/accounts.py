"""Credentials of a block: the one the node names, else the one kept for the provider and the server."""

from __future__ import annotations

from functools import partial

from boundary.destinations import Destination, destination_of, read_destination
from boundary.errors import BlockedUrl
from executions.blocks.context import BlockContext
from executions.blocks.errors import BlockFailed, CredentialsMissing
from executions.blocks.schema import Object
from executions.ports import Credential, CredentialUnbound, ReviewQuestion


def find_credential(
    provider: str, chosen: Object | None, context: BlockContext, *, destination: Destination | None = None
) -> Credential | None:
    """Return the credential to send to `destination`, or None.

    One that the node names and its owner bound to no server yet is bound to this one when the owner approves that in
    a review; raises ParkedForReview meanwhile.
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


def need_credential(
    provider: str, chosen: Object | None, context: BlockContext, *, destination: Destination | None = None
) -> Credential:
    """Return the credential to send to `destination`; raise CredentialsMissing."""
    credential = find_credential(provider, chosen, context, destination=destination)
    if credential is None:
        raise CredentialsMissing(provider)
    return credential


def ask_to_bind(unbound: CredentialUnbound, destination: Destination, context: BlockContext) -> None:
    """Ask the owner whether the credential may be sent there, and bind it; asked in every mode, safe or not."""
    asked = {
        "credential": unbound.title,
        "credential_id": unbound.credentials_id,
        "host": destination.host,
        "port": destination.port,
        "after_approval": "It is bound to this server and sent to no other.",
    }
    question = ReviewQuestion(name=f"Send {unbound.title} to {destination}?", data=asked, editable=False)
    decision = context.ports.reviews.decide(question, context.key("bind-credential"))
    if not decision.approved or decision.data != asked:
        said = f": {decision.message}" if decision.message else "."
        raise BlockFailed(f"{unbound.title} was not approved for {destination}{said}")
    context.ports.credentials.bind(unbound.credentials_id, destination)


def server_at(host: str, port: int) -> Destination:
    """Return the server a block names; raise BlockFailed."""
    try:
        return read_destination(host, port)
    except BlockedUrl as error:
        raise BlockFailed(f"The server cannot be used: {error}") from error


def server_of_url(url: str) -> Destination | None:
    """Return the server a URL names; None when the URL is not valid, which the request itself says."""
    try:
        return destination_of(url)
    except BlockedUrl:
        return None
