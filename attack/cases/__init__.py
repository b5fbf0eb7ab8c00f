"""The attacks, one module per section; importing this package fills the table of cases."""

from attack.cases import (
    access,
    auth,
    files,
    injection,
    limits,
    mcp,
    model_output,
    openai_api,
    parsers,
    sandbox,
    secrets,
    ssrf,
    webhooks,
)

__all__ = [
    "access",
    "auth",
    "files",
    "injection",
    "limits",
    "mcp",
    "model_output",
    "openai_api",
    "parsers",
    "sandbox",
    "secrets",
    "ssrf",
    "webhooks",
]
