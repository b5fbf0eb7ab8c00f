"""The environment table: every variable the product reads, typed, with its default and its help."""

from __future__ import annotations

import dataclasses
import hashlib
import math
import os
import re
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_type_hints

ROOT = Path(__file__).resolve().parent.parent
TRUE_WORDS = {"1", "true", "yes", "on"}
FALSE_WORDS = {"0", "false", "no", "off", ""}
MAX_SOCKET_PATH = 100  # the kernel's limit on unix socket paths is 108 bytes, 104 on macOS
MAX_PORT = 65_535
NUMBER_WORDS: dict[type, str] = {int: "a whole number", float: "a number"}


class BadEnvironment(Exception):
    """An environment variable has a value that cannot be used."""


def variable(
    name: str,
    default: Any,
    help: str,
    *,
    secret: bool = False,
    choices: tuple[str, ...] = (),
    pattern: str = "",
    least: int = 0,
) -> Any:
    """Declare one variable."""
    return dataclasses.field(
        default=default,
        metadata={
            "name": name,
            "help": help,
            "secret": secret,
            "choices": choices,
            "pattern": pattern,
            "least": least,
        },
    )


@dataclass(frozen=True, kw_only=True)
class Environment:
    """One field per variable; `read` parses them all at once and names the one that is wrong."""

    production: bool = variable(
        "COPILOT_PRODUCTION", False, "Production rules: secrets required, no DEBUG, no wildcard host."
    )
    port: int = variable(
        "PORT", 8000, "TCP port of the web server; if it is taken, `up` uses the next free one."
    )
    host: str = variable("HOST", "127.0.0.1", "Address the web server listens on.")
    home: str = variable("COPILOT_HOME", ".data", "Folder of all state: database, Redis, keys, files, logs.")
    database_url: str = variable(
        "DATABASE_URL",
        "",
        "postgres://user:password@host:port/name; SQLite in COPILOT_HOME when unset. What follows a ? is passed to "
        "PostgreSQL's library (sslmode, connect_timeout, options=-c%20search_path=a_schema…).",
        secret=True,
    )
    database_pool_size: int = variable(
        "COPILOT_DATABASE_POOL_SIZE",
        32,
        "Connections to PostgreSQL that the threads of one process share; a worker has two more of its own.",
        least=1,
    )
    database_pool_timeout: float = variable(
        "COPILOT_DATABASE_POOL_TIMEOUT_SECONDS",
        10.0,
        "How long a thread waits for a connection before the database counts as unavailable.",
    )
    redis_url: str = variable(
        "REDIS_URL", "", "redis://…, rediss://… or unix://…; an embedded Redis when unset.", secret=True
    )
    broker_url: str = variable(
        "CELERY_BROKER_URL", "", "Celery broker, redis:// or amqp://; REDIS_URL when unset.", secret=True
    )
    secret_key: str = variable(
        "SECRET_KEY",
        "",
        "Django's signing key; generated once and kept in COPILOT_HOME in development, required in production.",
        secret=True,
    )
    encryption_keys: str = variable(
        "ENCRYPTION_KEYS",
        "",
        "Comma-separated Fernet keys for credentials at rest, newest first; generated once in development, "
        "required in production.",
        secret=True,
    )
    debug: bool = variable("DEBUG", False, "Django's debug pages. Never in production.")
    allowed_hosts: str = variable(
        "ALLOWED_HOSTS", "localhost,127.0.0.1,[::1]", "Comma-separated host names the site answers to."
    )
    csrf_trusted_origins: str = variable(
        "CSRF_TRUSTED_ORIGINS", "", "Comma-separated origins (scheme://host) that may post forms."
    )
    site_url: str = variable(
        "SITE_URL", "", "Public address of the site, used in links; http://HOST:PORT when unset."
    )
    openai_api_key: str = variable(
        "OPENAI_API_KEY",
        "",
        "Key of the model provider; the offline model answers when no key and no address of a model server is set.",
        secret=True,
    )
    openai_base_url: str = variable(
        "OPENAI_BASE_URL", "", "Any OpenAI-compatible endpoint (OpenAI, OpenRouter, Ollama, vLLM…)."
    )
    openai_dialect: str = variable(
        "OPENAI_DIALECT",
        "chat",
        "How that endpoint is asked: chat completions, or the Responses API, which gives reasoning models their own "
        "reasoning back.",
        choices=("chat", "responses"),
    )
    anthropic_api_key: str = variable(
        "ANTHROPIC_API_KEY",
        "",
        "Key of Anthropic, whose Messages API is used when no OpenAI endpoint is set.",
        secret=True,
    )
    anthropic_base_url: str = variable(
        "ANTHROPIC_BASE_URL", "", "Any server of the Anthropic Messages API; Anthropic's own when unset."
    )
    endpoints: str = variable(
        "COPILOT_ENDPOINTS",
        "",
        "Further model servers: a JSON list, or the path of a file that holds one; the form is in models.md.",
        secret=True,
    )
    model: str = variable(
        "COPILOT_MODEL", "", "Model that answers; a sensible default per endpoint when unset."
    )
    title_model: str = variable(
        "COPILOT_TITLE_MODEL", "", "Small model for titles and summaries; COPILOT_MODEL when unset."
    )
    fallback_model: str = variable(
        "COPILOT_FALLBACK_MODEL",
        "",
        "Models asked in this order, comma-separated, when the first one keeps failing; none when unset.",
    )
    prices_file: str = variable(
        "COPILOT_PRICES_FILE",
        "",
        "JSON file with model prices that overrides and extends the built-in ones.",
    )
    offline_model_port: int = variable(
        "COPILOT_OFFLINE_MODEL_PORT", 8090, "TCP port of the offline model on the loopback address."
    )
    lease_seconds: float = variable(
        "COPILOT_LEASE_SECONDS", 15.0, "How long a worker owns a job without a sign of life."
    )
    heartbeat_seconds: float = variable(
        "COPILOT_HEARTBEAT_SECONDS", 5.0, "How often a worker renews the leases it holds."
    )
    sweep_seconds: float = variable(
        "COPILOT_SWEEP_SECONDS",
        1.0,
        "How often each worker looks for jobs left behind; at rest it does so every fourth time.",
    )
    max_running_turns: int = variable(
        "COPILOT_MAX_RUNNING_TURNS_PER_USER",
        5,
        "Turns of one user that may run at the same time; further ones wait in the queue.",
    )
    max_in_flight_turns: int = variable(
        "COPILOT_MAX_IN_FLIGHT_TURNS_PER_USER",
        15,
        "Turns of one user, running and queued; further ones are refused with 429.",
    )
    max_writes: int = variable(
        "COPILOT_MAX_WRITES_PER_MINUTE",
        600,
        "Writes per minute that one user may make through the HTTP API; further ones are refused with 429.",
    )
    worker_concurrency: int = variable(
        "COPILOT_WORKER_CONCURRENCY", 128, "Turns one worker process holds at once."
    )
    operations_concurrency: int = variable(
        "COPILOT_OPERATIONS_CONCURRENCY",
        16,
        "Operations and webhook deliveries one worker process holds at once.",
    )
    executions_concurrency: int = variable(
        "COPILOT_EXECUTIONS_CONCURRENCY",
        64,
        "Executions one worker process holds at once; they mostly wait, and blocks run on separate threads.",
    )
    alive_file: str = variable(
        "COPILOT_ALIVE_FILE",
        "",
        "File that a process touches every few seconds while it works, for docker/healthcheck; none when unset.",
    )
    frozen_seconds: int = variable(
        "COPILOT_FROZEN_SECONDS",
        30,
        "After this long without a sign of life, `./copilot up` replaces a process; 0 = never.",
    )
    stream_ttl_seconds: int = variable(
        "COPILOT_STREAM_TTL_SECONDS",
        3600,
        "How long a finished turn's events stay in Redis; later replays come from the database.",
    )
    s3_bucket: str = variable(
        "COPILOT_S3_BUCKET",
        "",
        "Bucket for workspace files; they are in COPILOT_HOME when unset. Needs the packages of "
        "requirements/s3.txt; keys come from the variables Amazon's tools use (AWS_ACCESS_KEY_ID…).",
    )
    s3_endpoint_url: str = variable(
        "COPILOT_S3_ENDPOINT_URL", "", "Address of an S3-compatible server; Amazon's when unset."
    )
    upload_scanner: str = variable(
        "COPILOT_UPLOAD_SCANNER",
        "",
        "Virus scanner (ClamAV's clamd) that every file passes before it is saved: unix:///path of its socket, or "
        "tcp://host:port; files are not scanned when unset.",
        pattern=r"unix:///\S+|tcp://(?:[\w.-]+|\[[\da-fA-F:.]+\]):\d{1,5}",
    )
    keep_events_days: int = variable(
        "COPILOT_KEEP_EVENTS_DAYS",
        30,
        "Days after which a finished turn's recorded stream is deleted (its messages stay); 0 keeps all.",
    )
    keep_executions_days: int = variable(
        "COPILOT_KEEP_EXECUTIONS_DAYS",
        90,
        "Days after which a finished execution and its nodes are deleted; 0 keeps all.",
    )
    internal_api_key: str = variable(
        "INTERNAL_API_KEY",
        "",
        "Key that outside services send as X-API-Key to complete operations.",
        secret=True,
    )
    agent_generator_url: str = variable(
        "AGENT_GENERATOR_URL", "", "Address of an external agent generator; the built-in one when unset."
    )
    agent_generator_api: str = variable(
        "AGENT_GENERATOR_API",
        "auto",
        "Whose addresses the external generator has: those of this project or of AutoGPT; auto asks /health.",
        choices=("auto", "ratchet", "autogpt"),
    )
    agent_generator_timeout: float = variable(
        "AGENT_GENERATOR_TIMEOUT_SECONDS", 1800.0, "Time limit of one request to the external generator."
    )
    allow_anonymous: bool = variable(
        "COPILOT_ALLOW_ANONYMOUS", False, "Visitors without an account may chat."
    )
    allow_signup: bool = variable("COPILOT_ALLOW_SIGNUP", True, "People may create their own account.")
    day_budget: float = variable(
        "COPILOT_DAY_BUDGET_USD",
        0.0,
        "Dollars one user may spend a day, unless their own budget says otherwise; 0 is no limit.",
    )
    month_budget: float = variable(
        "COPILOT_MONTH_BUDGET_USD",
        0.0,
        "Dollars one user may spend a month, unless their own budget says otherwise; 0 is no limit.",
    )
    visitors_day_budget: float = variable(
        "COPILOT_VISITORS_DAY_BUDGET_USD",
        0.0,
        "Dollars all visitors without an account may spend a day together; 0 is no limit.",
    )
    trusted_proxies: str = variable(
        "COPILOT_TRUSTED_PROXIES",
        "",
        "Comma-separated addresses or networks of reverse proxies whose X-Forwarded-For is trusted.",
    )
    hsts_seconds: int = variable(
        "COPILOT_HSTS_SECONDS",
        31_536_000,
        "In production: how long browsers insist on https for this host; use 0 while you try it out.",
    )
    admin_path: str = variable(
        "ADMIN_PATH",
        "admin",
        "Path of the admin under the site's address; letters, digits, - and _ only.",
        pattern=r"(?!(api|c|ws|static|login|logout|library|account|store)$)[\w-]+",
    )
    admin_require_second_factor: bool = variable(
        "ADMIN_REQUIRE_SECOND_FACTOR",
        False,
        "Everybody who enters the admin needs a second factor; people without one set it up first.",
    )
    admin_session_seconds: int = variable(
        "ADMIN_SESSION_SECONDS",
        3600,
        "After this long without a visit the admin asks for the password, and the second factor, again.",
    )
    flower_url: str = variable(
        "FLOWER_URL", "", "Where people with admin rights reach Flower; the admin links to it when set."
    )
    flower_port: int = variable(
        "FLOWER_PORT", 5555, "TCP port of Flower; if it is taken, `up` uses the next free one."
    )
    flower_basic_auth: str = variable(
        "FLOWER_BASIC_AUTH",
        "",
        "user:password for Flower, which then listens on HOST; when unset, one is generated and kept in "
        "COPILOT_HOME and Flower stays on the loopback address.",
        secret=True,
    )
    sandbox: str = variable(
        "SANDBOX", "auto", "Where shell commands and code blocks may run.", choices=("auto", "bwrap", "off")
    )
    boundary_allowed_hosts: str = variable(
        "BOUNDARY_ALLOWED_HOSTS",
        "",
        "Comma-separated host:port of services on your own network that tools, blocks and webhooks may reach.",
    )
    boundary_plaintext_hosts: str = variable(
        "BOUNDARY_PLAINTEXT_HOSTS",
        "",
        "Comma-separated host:port of services of your own that credentials may be sent to without TLS.",
    )
    tainted_effects: str = variable(
        "TAINTED_EFFECTS",
        "ask",
        "What to do with effects that leave the site or persist once content from outside has been read: "
        "ask a person, allow them, or deny them.",
        choices=("ask", "allow", "deny"),
    )
    search_url: str = variable(
        "SEARCH_URL", "", "Web search of the search blocks: a JSON search endpoint such as SearXNG's."
    )
    search_corpus: str = variable(
        "SEARCH_CORPUS", "", "Folder of text files that the search blocks search instead of the web."
    )
    min_schedule_seconds: float = variable(
        "COPILOT_MIN_SCHEDULE_SECONDS", 60.0, "Minimum time between two runs of a schedule."
    )
    oauth_providers: str = variable(
        "COPILOT_OAUTH_PROVIDERS",
        "",
        "JSON object of the OAuth2 providers people may sign in to, by name: see docs/how-to/sign-in-with-oauth.md.",
        secret=True,
    )
    mcp_servers: str = variable(
        "COPILOT_MCP_SERVERS",
        "",
        "JSON object of MCP servers that everybody uses, by name: see docs/how-to/connect-mcp-servers.md.",
        secret=True,
    )
    log_level: str = variable(
        "LOG_LEVEL",
        "INFO",
        "How much the processes log.",
        choices=("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"),
    )
    log_format: str = variable(
        "LOG_FORMAT",
        "auto",
        "Plain lines for people, or one JSON object per line; auto means JSON in production.",
        choices=("auto", "plain", "json"),
    )
    sentry_dsn: str = variable("SENTRY_DSN", "", "Errors go to Sentry when set.", secret=True)
    otlp_endpoint: str = variable(
        "OTEL_EXPORTER_OTLP_ENDPOINT",
        "",
        "Traces go to this OpenTelemetry collector (OTLP over HTTP, such as http://collector:4318) when set. Needs the "
        "packages of requirements/traces.txt; the other OTEL_* variables of its SDK apply too.",
    )
    chat_url: str = variable(
        "COPILOT_URL", "", "The site `./copilot chat` talks to; the one `./copilot up` started when unset."
    )
    chat_api_key: str = variable(
        "COPILOT_API_KEY",
        "",
        "API key of `./copilot chat`; when unset, one for the demo user is generated and kept in COPILOT_HOME.",
        secret=True,
    )

    test_tools: bool = variable(
        "COPILOT_TEST_TOOLS", False, "For fault tests: offers the model the tools of tests/testtools as well."
    )

    test_apps: str = variable(
        "COPILOT_TEST_APPS", "", "For tests: comma-separated Django apps to install besides the product's."
    )

    crash_at: str = variable(
        "COPILOT_CRASH_AT",
        "",
        "For fault tests: `place:file` kills the process once, when it reaches that place, and creates the file. "
        "Refused in production.",
    )

    @classmethod
    def read(cls, environ: Mapping[str, str]) -> Environment:
        """Parse every variable; raise BadEnvironment with the name of the first that is wrong."""
        types = get_type_hints(cls)
        values: dict[str, Any] = {
            field.name: parse(field, environ[field.metadata["name"]], types[field.name])
            for field in dataclasses.fields(cls)
            if environ.get(field.metadata["name"], "") != ""
        }
        return cls(**values)

    @property
    def embedded_redis(self) -> bool:
        return not self.redis_url

    @property
    def offline_model(self) -> bool:
        """No model is configured, so the built-in one answers."""
        return not (
            self.openai_api_key
            or self.openai_base_url
            or self.anthropic_api_key
            or self.anthropic_base_url
            or self.endpoints
        )

    @property
    def home_path(self) -> Path:
        return (ROOT / self.home).resolve()

    @property
    def effective_redis_url(self) -> str:
        return self.redis_url or f"unix://{embedded_socket(self.home_path)}"

    @property
    def effective_broker_url(self) -> str:
        url = self.broker_url or self.effective_redis_url
        return url.replace("unix://", "redis+socket://", 1)

    @property
    def effective_site_url(self) -> str:
        return (self.site_url or f"http://{self.host}:{self.port}").rstrip("/")


def parse(field: dataclasses.Field[Any], text: str, kind: type) -> bool | int | float | str:
    """Turn one variable's text into its type."""
    name: str = field.metadata["name"]
    if kind is bool:
        return parse_bool(name, text)
    if kind is int or kind is float:
        number = parse_number(name, text, kind)
        if number < (least := field.metadata["least"]):
            raise BadEnvironment(f"{name}={text!r} must be {least} or more. Fix it or unset it.")
        if name.endswith("PORT") and number > MAX_PORT:
            raise BadEnvironment(f"{name}={text!r} is not a port. Set it to 1..{MAX_PORT}, or unset it.")
        return number
    if (pattern := field.metadata["pattern"]) and not re.fullmatch(pattern, text, re.ASCII):
        raise BadEnvironment(f"{name}={text!r} cannot be used. {field.metadata['help']}")
    return parse_choice(name, text, field.metadata["choices"]) if field.metadata["choices"] else text


def parse_number(name: str, text: str, kind: type[int] | type[float]) -> int | float:
    try:
        number = kind(text)
    except ValueError:
        raise BadEnvironment(f"{name}={text!r} is not {NUMBER_WORDS[kind]}. Fix it or unset it.") from None
    if not 0 <= number < math.inf:
        raise BadEnvironment(f"{name}={text!r} must be zero or more, and finite. Fix it or unset it.")
    return number


def parse_choice(name: str, text: str, choices: tuple[str, ...]) -> str:
    for choice in choices:
        if choice.lower() == text.strip().lower():
            return choice
    raise BadEnvironment(f"{name}={text!r} is none of {', '.join(choices)}. Set it to one, or unset it.")


def parse_bool(name: str, text: str) -> bool:
    word = text.strip().lower()
    if word in TRUE_WORDS:
        return True
    if word in FALSE_WORDS:
        return False
    raise BadEnvironment(f"{name}={text!r} is neither true nor false. Set it to true or false, or unset it.")


def embedded_socket(home: Path) -> Path:
    """Return the socket of the embedded Redis: in the home folder, or the temporary one if that path is too long."""
    path = home / "redis" / "redis.sock"
    if len(os.fsencode(path)) <= MAX_SOCKET_PATH:
        return path
    digest = hashlib.sha256(os.fsencode(home)).hexdigest()[:16]
    return Path(tempfile.gettempdir()) / f"ratchet-{os.getuid()}-{digest}" / "redis.sock"


def split(text: str) -> list[str]:
    """Return a comma-separated variable as a list."""
    return [part.strip() for part in text.split(",") if part.strip()]
