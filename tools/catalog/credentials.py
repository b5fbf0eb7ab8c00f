"""list_credentials: which credentials the user has stored, by name."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from executions.models import StoredCredential
from tools.base import Reads, ToolArgs, ToolResult, tool
from tools.context import ToolContext
from tools.preconditions import login_required


class Args(ToolArgs):
    provider: str | None = Field(default=None, max_length=100, description="Only of this provider.")


class CredentialList(ToolResult):
    type: Literal["credentials_found"] = "credentials_found"
    stored: list[dict[str, Any]]
    link: str = "/library/credentials"


@tool(gates=[login_required], reads=Reads.NOTHING, holds=False)
def list_credentials(args: Args, context: ToolContext) -> CredentialList:
    """List the names of the user's stored credentials and what they are for. Secrets are never shown."""
    rows = StoredCredential.objects.filter(user=context.user).order_by("provider", "title")
    if args.provider:
        rows = rows.filter(provider__iexact=args.provider)
    shown = [
        describe(row) for row in rows.only("provider", "title", "kind", "host", "expires_at", "signed_out_at")
    ]
    message = "There is 1 credential." if len(shown) == 1 else f"There are {len(shown) or 'no'} credentials."
    return CredentialList(message=message, stored=shown)


def describe(row: StoredCredential) -> dict[str, Any]:
    return {
        "name": str(row),
        "provider": row.provider,
        "kind": row.kind,
        "host": row.host or None,
        "usable": row.signed_out_at is None,
    }
