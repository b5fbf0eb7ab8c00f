"""The headers that open a server: its key, or the sign-in of the person who uses it."""

from __future__ import annotations

from boundary.errors import BlockedUrl
from boundary.policy import destination_of
from connections.errors import ServerMisbehaved, SignInNeeded
from connections.models import ToolServer
from connections.oauth.sign_ins import access_token
from durable.encryption import CannotUnseal, unseal
from executions.credentials.lookup import may_be_sent

BEARER_HEADER = "authorization"


def headers_for_server(server: ToolServer, user_id: int | None) -> dict[str, str]:
    """Return the headers; raises SignInNeeded, and ServerMisbehaved if a secret would travel without TLS."""
    if server.auth == ToolServer.Auth.NONE:
        return {}
    check_encrypted(server.url)
    if server.auth == ToolServer.Auth.KEY:
        return key_header(server)
    token = access_token(server, user_id)
    return {"Authorization": f"Bearer {token}"}


def key_header(server: ToolServer) -> dict[str, str]:
    try:
        key = unseal(server.sealed_key)
    except CannotUnseal:
        raise SignInNeeded(
            f"The key of {server} cannot be read with this site's keys. Enter it again."
        ) from None
    value = f"Bearer {key}" if server.key_header.lower() == BEARER_HEADER else key
    return {server.key_header: value}


def check_encrypted(url: str) -> None:
    try:
        destination = destination_of(url)
    except BlockedUrl as error:
        raise ServerMisbehaved(str(error)) from None
    if not may_be_sent(destination):
        raise ServerMisbehaved("Keys and sign-ins are only sent over https. Use an https:// address.")
