"""The tables of docs/how-to/deploy.md that code knows the answer to, between marks in the page."""

from __future__ import annotations

import dataclasses
import re

from copilot_project.env import ROOT, Environment

PAGE = ROOT / "docs" / "how-to" / "deploy.md"
MARKED = re.compile(r"(<!-- table: ([a-z-]+) -->\n).*?(<!-- end -->)", re.DOTALL)
MUST_CHANGE = {
    "COPILOT_PRODUCTION": "`true`",
    "SECRET_KEY": "from `./copilot makekeys`; at least 50 characters",
    "ENCRYPTION_KEYS": "from `./copilot makekeys`; newest first when there are several",
    "ALLOWED_HOSTS": "the public host name",
    "CSRF_TRUSTED_ORIGINS": "`https://` and the public host name",
    "SITE_URL": "the public address",
    "COPILOT_TRUSTED_PROXIES": "the address or network of your proxy; https is enforced once it is set",
    "HOST": "`0.0.0.0` if the proxy runs on another machine; do not expose the port to the internet",
    "DATABASE_URL": "`postgres://user:password@host:5432/name`",
    "REDIS_URL": "`redis://…` or `rediss://…`, version 6.2 or newer, with `noeviction` and an append-only file",
    "OPENAI_API_KEY": "the key of your model provider; see below",
}
MAY_CHANGE = (
    "CELERY_BROKER_URL",
    "OPENAI_BASE_URL",
    "OPENAI_DIALECT",
    "ANTHROPIC_API_KEY",
    "COPILOT_ENDPOINTS",
    "COPILOT_MODEL",
    "COPILOT_FALLBACK_MODEL",
    "COPILOT_S3_BUCKET",
    "COPILOT_S3_ENDPOINT_URL",
    "COPILOT_UPLOAD_SCANNER",
    "COPILOT_OAUTH_PROVIDERS",
    "COPILOT_ALLOW_SIGNUP",
    "COPILOT_ALLOW_ANONYMOUS",
    "COPILOT_DAY_BUDGET_USD",
    "COPILOT_MONTH_BUDGET_USD",
    "COPILOT_DATABASE_POOL_SIZE",
    "COPILOT_DATABASE_POOL_TIMEOUT_SECONDS",
    "COPILOT_WORKER_CONCURRENCY",
    "COPILOT_OPERATIONS_CONCURRENCY",
    "COPILOT_EXECUTIONS_CONCURRENCY",
    "COPILOT_KEEP_EVENTS_DAYS",
    "COPILOT_KEEP_EXECUTIONS_DAYS",
    "COPILOT_HSTS_SECONDS",
    "ADMIN_PATH",
    "ADMIN_REQUIRE_SECOND_FACTOR",
    "ADMIN_SESSION_SECONDS",
    "FLOWER_BASIC_AUTH",
    "FLOWER_URL",
    "INTERNAL_API_KEY",
    "SENTRY_DSN",
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    "LOG_FORMAT",
    "LOG_LEVEL",
)
ROLES = {
    "web": "serves HTTP, websockets and streams",
    "worker": "runs turns",
    "operations": "runs long-running tools, delivers webhooks",
    "executions": "runs agents",
    "beat": "starts what happens by the clock; run exactly one",
    "completions": "reads answers of outside services from the Redis stream",
    "flower": "Flower, behind a password",
    "migrate": "prepares the database, then ends; run it before the others at each upgrade",
}


def deployment_page() -> str:
    """Return the page with its tables regenerated."""
    return MARKED.sub(lambda found: found[1] + TABLES[found[2]]() + found[3], PAGE.read_text())


def must_change_table() -> str:
    return table(("variable", "on a server"), [(f"`{name}`", text) for name, text in MUST_CHANGE.items()])


def may_change_table() -> str:
    helps = {field.metadata["name"]: field.metadata["help"] for field in dataclasses.fields(Environment)}
    return table(("variable", "what it does"), [(f"`{name}`", helps[name]) for name in MAY_CHANGE])


def roles_table() -> str:
    return table(("role", "what it does"), [(f"`{name}`", text) for name, text in ROLES.items()])


def table(head: tuple[str, str], rows: list[tuple[str, str]]) -> str:
    lines = [head, ("---", "---"), *rows]
    return "".join(f"| {left} | {right} |\n" for left, right in lines)


TABLES = {"must-change": must_change_table, "may-change": may_change_table, "roles": roles_table}
