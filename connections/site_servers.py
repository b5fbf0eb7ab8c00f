"""Servers of the whole site from the setting COPILOT_MCP_SERVERS: one JSON object by name."""

from __future__ import annotations

from typing import Annotated

from django.conf import settings
from django.core.checks import CheckMessage, Error
from pydantic import BaseModel, ConfigDict, SecretStr, StringConstraints, TypeAdapter, ValidationError

from connections import servers
from connections.models import ToolServer
from durable.database import in_transaction
from durable.encryption import seal
from durable.errors import Refusal

Name = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,19}$")]


class ConfiguredServer(BaseModel):
    """One server of the setting."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    url: str
    title: str = ""
    key: SecretStr = SecretStr("")
    key_header: str = "Authorization"
    sign_in: bool = False
    enabled: bool = True

    @property
    def auth(self) -> str:
        if self.sign_in:
            return ToolServer.Auth.SIGN_IN
        return ToolServer.Auth.KEY if self.key.get_secret_value() else ToolServer.Auth.NONE


SERVERS: TypeAdapter[dict[str, ConfiguredServer]] = TypeAdapter(dict[Name, ConfiguredServer])


def configured() -> dict[str, ConfiguredServer]:
    """Return the servers of the setting by name; raises ValueError when it is not valid."""
    return SERVERS.validate_json(settings.COPILOT_MCP_SERVERS) if settings.COPILOT_MCP_SERVERS else {}


def after_migrate(**kwargs: object) -> None:
    """Write the rows whenever the database was migrated, which every start does."""
    write_rows()


@in_transaction
def write_rows() -> int:
    """Write the rows of the setting's servers and switch off those that it names no more; return how many there are.

    Nothing is contacted. Runs with `migrate`; a second time it changes nothing.
    """
    wanted = configured()
    ToolServer.objects.filter(from_setting=True).exclude(name__in=wanted).update(enabled=False)
    for name, server in wanted.items():
        write_row(name, server)
    return len(wanted)


def write_row(name: str, server: ConfiguredServer) -> None:
    row = ToolServer.objects.filter(name=name, user=None).first() or ToolServer(name=name)
    url = servers.check_url(server.url)
    if row.url != url:
        row.era, row.oauth, row.sealed_client_secret = "", {}, ""
    row.url, row.title, row.auth, row.enabled = url, server.title, server.auth, server.enabled
    key = server.key.get_secret_value()
    row.key_header, row.sealed_key = server.key_header, seal(key) if key else ""
    row.from_setting = True
    row.save()


def check_setting(**kwargs: object) -> list[CheckMessage]:
    """Check COPILOT_MCP_SERVERS. Messages name the field and never its value, which may be a secret."""
    try:
        for server in configured().values():
            servers.check_url(server.url)
    except ValidationError as error:
        problem = error.errors(include_input=False, include_url=False, include_context=False)[0]
        place = ".".join(str(part) for part in problem["loc"]) or "the value"
        return [Error(f"COPILOT_MCP_SERVERS: {place}: {problem['msg']}.", id="connections.E001")]
    except Refusal as refusal:
        return [Error(f"COPILOT_MCP_SERVERS: {refusal.advice}", id="connections.E002")]
    return []
