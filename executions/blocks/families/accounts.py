"""Credentials of a block: the one the node names, else the one kept for the provider."""

from __future__ import annotations

from executions.blocks.context import BlockContext
from executions.blocks.errors import CredentialsMissing
from executions.blocks.schema import Object
from executions.ports import Credential


def find_credential(
    provider: str, chosen: Object | None, context: BlockContext, *, host: str = ""
) -> Credential | None:
    """The credential to act with, or None."""
    credentials_id = str((chosen or {}).get("id") or "")
    return context.ports.credentials.find(provider, credentials_id=credentials_id, host=host)


def need_credential(
    provider: str, chosen: Object | None, context: BlockContext, *, host: str = ""
) -> Credential:
    """The credential to act with; raises CredentialsMissing."""
    credential = find_credential(provider, chosen, context, host=host)
    if credential is None:
        raise CredentialsMissing(provider)
    return credential
