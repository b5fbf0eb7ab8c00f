"""The packages of the product, for tests that read its code."""

PACKAGES = (
    "accounts",
    "blocks",
    "boundary",
    "doors",
    "chat",
    "connections",
    "copilot_project",
    "durable",
    "executions",
    "llm",
    "tools",
    "webhooks",
    "workspace",
)
