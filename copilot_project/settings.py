"""The Django settings, derived from the environment variables in env.py."""

from __future__ import annotations

import os
from decimal import Decimal
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from django.core.exceptions import ImproperlyConfigured

from copilot_project import production, secrets
from copilot_project.env import ROOT, BadEnvironment, Environment, split
from copilot_project.web.openapi import TAGS

try:
    ENV = Environment.read(os.environ)
except BadEnvironment as error:
    raise ImproperlyConfigured(str(error)) from None

BASE_DIR = ROOT
HOME = ENV.home_path
PRODUCTION = ENV.production
DEBUG = ENV.debug
SITE_URL = ENV.effective_site_url

SECRET_KEY_CHARACTERS = 50
if PRODUCTION:
    missing = [
        name
        for name, value in {"SECRET_KEY": ENV.secret_key, "ENCRYPTION_KEYS": ENV.encryption_keys}.items()
        if not value
    ]
    if missing:
        raise ImproperlyConfigured(
            f"Production needs {' and '.join(missing)}. Make one with `./copilot makekeys` and set it."
        )
    if DEBUG:
        raise ImproperlyConfigured("Production refuses DEBUG. Unset it.")
    if ENV.crash_at:
        raise ImproperlyConfigured("Production refuses COPILOT_CRASH_AT, which kills processes. Unset it.")
    if not production.are_fernet_keys(split(ENV.encryption_keys)):
        raise ImproperlyConfigured(
            "Production refuses ENCRYPTION_KEYS with a key that is none. Make one with `./copilot makekeys`."
        )
    if too_wide := production.too_wide_hosts(split(ENV.allowed_hosts)):
        raise ImproperlyConfigured(
            f"Production refuses a wildcard in ALLOWED_HOSTS, such as {too_wide[0]!r}. Name the hosts."
        )
    if (ENV.test_tools or ENV.test_apps) and not production.is_loopback_only(split(ENV.allowed_hosts)):
        raise ImproperlyConfigured(
            "Production refuses COPILOT_TEST_TOOLS and COPILOT_TEST_APPS on a site that others reach. Unset them."
        )
    if len(ENV.secret_key) < SECRET_KEY_CHARACTERS or ENV.secret_key.startswith("django-insecure-"):
        raise ImproperlyConfigured(
            f"Production refuses a SECRET_KEY of less than {SECRET_KEY_CHARACTERS} characters, or one made for "
            "development. Make one with `./copilot makekeys`."
        )

SECRET_KEY = ENV.secret_key or secrets.secret_key(HOME)
ENCRYPTION_KEYS = split(ENV.encryption_keys) or [secrets.encryption_key(HOME)]
ALLOWED_HOSTS = split(ENV.allowed_hosts)
CSRF_TRUSTED_ORIGINS = split(ENV.csrf_trusted_origins)

INSTALLED_APPS = [
    "copilot_project",
    "doors.openai.apps.OpenAIDoorConfig",
    "doors.mcp.apps.McpDoorConfig",
    "chat",
    "tools",
    "connections",
    "executions",
    "blocks",
    "webhooks",
    "llm",
    "workspace",
    "accounts",
    "durable",
    "copilot_project.ops.metrics.apps.MetricsConfig",
    "copilot_project.ops.console.apps.ConsoleConfig",
    "copilot_project.ops.console.second_factor.apps.SecondFactorConfig",
    "django_otp",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "channels",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "django_celery_beat",
]
if ENV.test_tools:
    INSTALLED_APPS.append("tests.testtools")
INSTALLED_APPS += split(ENV.test_apps)

MIDDLEWARE = [
    "copilot_project.web.middleware.screen",
    "copilot_project.web.middleware.drop_untrusted_headers",
    "copilot_project.web.middleware.protect",
    "copilot_project.web.language.speak",
    "django.middleware.security.SecurityMiddleware",
    "copilot_project.web.static_files.StaticFiles",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]

ROOT_URLCONF = "copilot_project.urls"
ASGI_APPLICATION = "copilot_project.asgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [ROOT / "copilot_project" / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
            "libraries": {"console": "copilot_project.ops.console.formatting"},
        },
    }
]

# --- database -----------------------------------------------------------------------------------

SQLITE_PRAGMAS = (
    "PRAGMA journal_mode=WAL;PRAGMA synchronous=NORMAL;PRAGMA foreign_keys=ON;PRAGMA busy_timeout=20000;"
)
POSTGRES_TIMEOUTS = "-c statement_timeout=15s -c idle_in_transaction_session_timeout=30s -c lock_timeout=5s"


# Notice a server that has vanished before a lease expires; the URL may override this.
POSTGRES_PATIENCE: dict[str, Any] = {
    "connect_timeout": 5,
    "keepalives_idle": 5,
    "keepalives_interval": 2,
    "keepalives_count": 3,
    "tcp_user_timeout": 10_000,
}


def sqlite(path: str) -> dict[str, Any]:
    """Use WAL with IMMEDIATE transactions: WAL alone fails when a read transaction starts to write."""
    options = {"timeout": 20, "transaction_mode": "IMMEDIATE", "init_command": SQLITE_PRAGMAS}
    return {
        "ENGINE": "durable.sqlite",
        "NAME": path,
        "OPTIONS": options,
        "TEST": {"NAME": f"{path}.test"},  # a file: threads on an in-memory database lock each other out
    }


def postgres(url: str) -> dict[str, Any]:
    """Use a pool per process: a waiting job returns its connection and takes another for its next transaction."""
    parts = urlsplit(url)
    options: dict[str, Any] = POSTGRES_PATIENCE | dict(parse_qsl(parts.query))
    options["options"] = f"{POSTGRES_TIMEOUTS} {options.get('options', '')}".strip()  # the last option wins
    options["pool"] = {
        "min_size": 1,
        "max_size": ENV.database_pool_size,
        "timeout": ENV.database_pool_timeout,
    }
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": unquote(parts.path.lstrip("/")),
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": unquote(parts.hostname or ""),
        "PORT": str(parts.port or ""),
        "OPTIONS": options,
        "CONN_MAX_AGE": 0,
        "CONN_HEALTH_CHECKS": True,
    }


def database(url: str) -> dict[str, Any]:
    if not url:
        HOME.mkdir(parents=True, exist_ok=True, mode=0o700)
        return sqlite(str(secrets.private_file(HOME / "copilot.sqlite3")))
    scheme = urlsplit(url).scheme
    if scheme in ("postgres", "postgresql"):
        return postgres(url)
    if scheme == "sqlite":
        return sqlite(url.removeprefix("sqlite://"))
    raise ImproperlyConfigured(
        f"DATABASE_URL has the scheme {scheme!r}. Use postgres:// or sqlite://, or unset it."
    )


DATABASES = {"default": database(ENV.database_url)}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# --- Redis, Celery, Channels --------------------------------------------------------------------

REDIS_URL = ENV.effective_redis_url
CHANNEL_LAYERS = {
    "default": {
        "BACKEND": "channels_redis.pubsub.RedisPubSubChannelLayer",
        "CONFIG": {"hosts": [REDIS_URL], "prefix": "ratchet"},
    }
}

CELERY_BROKER_URL = ENV.effective_broker_url
CELERY_TASK_IGNORE_RESULT = True
CELERY_ACCEPT_CONTENT = ["json"]
CELERY_TASK_ACKS_LATE = False  # a message is only a poke; the database is the queue of record
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_TASK_CREATE_MISSING_QUEUES = True
CELERY_TASK_DEFAULT_QUEUE = "turns"
CELERY_WORKER_DISABLE_PREFETCH = not CELERY_BROKER_URL.startswith(
    "amqp"
)  # durable/backpressure.py does it there
CELERY_WORKER_ENABLE_PREFETCH_COUNT_REDUCTION = False  # after a lost connection; nothing is prefetched
CELERY_BROKER_CHANNEL_ERROR_RETRY = True  # a channel the broker closed is opened again
CELERY_BROKER_CONNECTION_MAX_RETRIES = None
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_POOL_LIMIT = 8
CELERY_WORKER_CANCEL_LONG_RUNNING_TASKS_ON_CONNECTION_LOSS = False
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_WORKER_SEND_TASK_EVENTS = False  # Flower asks for them while it runs; each costs as much as a poke
CELERY_BEAT_SCHEDULER = "copilot_project.beat:Scheduler"
CELERY_TIMEZONE = "UTC"
# Written into the database when beat starts; an operator changes them there, in the admin.
CELERY_BEAT_SCHEDULE: dict[str, Any] = {
    "workspace: remove content no file owns": {
        "task": "workspace.purge_deleted",
        "schedule": 3600.0,
        "options": {"queue": "operations"},
    },
    "retention: throw away what is old": {
        "task": "retention.throw_away_old",
        "schedule": 24 * 3600.0,
        "options": {"queue": "operations"},
    },
    "webhooks: forget old deliveries": {
        "task": "webhooks.forget_old",
        "schedule": 3600.0,
        "options": {"queue": "webhooks"},
    },
    "executions: forget old calls of triggers": {
        "task": "executions.forget_old_deliveries",
        "schedule": 3600.0,
        "options": {"queue": "executions"},
    },
}
CELERY_BROKER_TRANSPORT_OPTIONS: dict[str, Any] = (
    {"confirm_publish": False, "max_retries": 0}
    if CELERY_BROKER_URL.startswith("amqp")
    else {
        "ack_emulation": False,  # nothing to restore after a Redis restart; see docs/decisions
        "max_retries": 0,  # of a poke: without it a message waits 6 s for a broker that is away
        "socket_timeout": 5,
        "socket_connect_timeout": 2,
        "socket_keepalive": not CELERY_BROKER_URL.startswith("redis+socket"),
        "health_check_interval": 10,
        "retry_on_timeout": False,
        "global_keyprefix": "ratchet:",
    }
)

# --- durable jobs, model, chat ------------------------------------------------------------------

COPILOT_LEASE_SECONDS = ENV.lease_seconds
COPILOT_HEARTBEAT_SECONDS = ENV.heartbeat_seconds
COPILOT_SWEEP_SECONDS = ENV.sweep_seconds
COPILOT_STREAM_TTL_SECONDS = ENV.stream_ttl_seconds
COPILOT_MAX_RUNNING_TURNS_PER_USER = ENV.max_running_turns
COPILOT_MAX_IN_FLIGHT_TURNS_PER_USER = ENV.max_in_flight_turns
COPILOT_MAX_WRITES_PER_MINUTE = ENV.max_writes
COPILOT_WORKER_CONCURRENCY = ENV.worker_concurrency
COPILOT_OPERATIONS_CONCURRENCY = ENV.operations_concurrency
COPILOT_EXECUTIONS_CONCURRENCY = ENV.executions_concurrency
COPILOT_ALIVE_FILE = ENV.alive_file
COPILOT_CRASH_AT = ENV.crash_at
COPILOT_ALLOW_ANONYMOUS = ENV.allow_anonymous
COPILOT_ALLOW_SIGNUP = ENV.allow_signup
COPILOT_DAY_BUDGET = Decimal(str(ENV.day_budget)) or None
COPILOT_MONTH_BUDGET = Decimal(str(ENV.month_budget)) or None
COPILOT_VISITORS_DAY_BUDGET = Decimal(str(ENV.visitors_day_budget)) or None
COPILOT_TRUSTED_PROXIES = split(ENV.trusted_proxies)
COPILOT_UPLOAD_SCANNER = ENV.upload_scanner
COPILOT_KEEP_EVENTS_DAYS = ENV.keep_events_days
COPILOT_KEEP_EXECUTIONS_DAYS = ENV.keep_executions_days
OPENAI_API_KEY = ENV.openai_api_key
OPENAI_BASE_URL = ENV.openai_base_url
OPENAI_DIALECT = ENV.openai_dialect
ANTHROPIC_API_KEY = ENV.anthropic_api_key
ANTHROPIC_BASE_URL = ENV.anthropic_base_url
COPILOT_ENDPOINTS = ENV.endpoints
COPILOT_MODEL = ENV.model
COPILOT_TITLE_MODEL = ENV.title_model
COPILOT_FALLBACK_MODEL = ENV.fallback_model
COPILOT_PRICES_FILE = ENV.prices_file
INTERNAL_API_KEY = ENV.internal_api_key
AGENT_GENERATOR_URL = ENV.agent_generator_url
AGENT_GENERATOR_API = ENV.agent_generator_api
AGENT_GENERATOR_TIMEOUT_SECONDS = ENV.agent_generator_timeout
COPILOT_OAUTH_PROVIDERS = ENV.oauth_providers
COPILOT_MCP_SERVERS = ENV.mcp_servers
COPILOT_MIN_SCHEDULE_SECONDS = ENV.min_schedule_seconds

# --- external services ---------------------------------------------------------------------------

SANDBOX = ENV.sandbox
BOUNDARY_ALLOWED_HOSTS = split(ENV.boundary_allowed_hosts)
BOUNDARY_PLAINTEXT_HOSTS = split(ENV.boundary_plaintext_hosts)
TAINTED_EFFECTS = ENV.tainted_effects
SEARCH_URL = ENV.search_url
SEARCH_CORPUS = ROOT / ENV.search_corpus if ENV.search_corpus else None

# --- web ----------------------------------------------------------------------------------------

AUTH_USER_MODEL = "accounts.User"
LOGIN_URL = "/login/"
LOGIN_REDIRECT_URL = "/"
LOGOUT_REDIRECT_URL = "/login/"
LANGUAGE_CODE = "en-us"
LANGUAGES = [("en", "English"), ("de", "Deutsch")]  # of the pages; the chat has its own catalogues
LANGUAGE_COOKIE_NAME = "ratchet_language"  # written by the chat when one is chosen
LOCALE_PATHS = [BASE_DIR / "copilot_project" / "locale"]
TIME_ZONE = "UTC"
USE_TZ = True
FORMAT_MODULE_PATH = ["copilot_project.formats"]  # operators compare times to the second
STATIC_URL = "/static/"
STATIC_ROOT = HOME / "static"
ON_DISK = {
    "BACKEND": "django.core.files.storage.FileSystemStorage",
    "OPTIONS": {
        "location": HOME / "files",
        "file_permissions_mode": 0o600,
        "directory_permissions_mode": 0o700,
    },
}
IN_A_BUCKET = {
    "BACKEND": "storages.backends.s3.S3Storage",
    "OPTIONS": {
        "bucket_name": ENV.s3_bucket,
        "endpoint_url": ENV.s3_endpoint_url or None,
        "querystring_auth": True,
    },
}
STORAGES: dict[str, Any] = {
    "default": IN_A_BUCKET if ENV.s3_bucket else ON_DISK,
    "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
}
WHITENOISE_USE_FINDERS = True
WHITENOISE_IMMUTABLE_FILE_TEST = r"^/static/ui/assets/"  # their names contain a hash of their content
UI_BUILD = ROOT / "frontend" / "dist"
STATICFILES_DIRS = [("ui", UI_BUILD)]
SILENCED_SYSTEM_CHECKS = ["staticfiles.W004"]  # the page may not be built yet
DATA_UPLOAD_MAX_MEMORY_SIZE = 5 * 1024 * 1024
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = PRODUCTION
COOKIE_PREFIX = "__Host-" if PRODUCTION else ""  # browsers then require https, path / and this exact host
SESSION_COOKIE_NAME = f"{COOKIE_PREFIX}sessionid"
CSRF_COOKIE_NAME = f"{COOKIE_PREFIX}csrftoken"
COPILOT_VISITOR_COOKIE = f"{COOKIE_PREFIX}visitor"
CSRF_FAILURE_VIEW = "copilot_project.web.pages.csrf_failure"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in (
        "UserAttributeSimilarityValidator",
        "MinimumLengthValidator",
        "CommonPasswordValidator",
        "NumericPasswordValidator",
    )
]
X_FRAME_OPTIONS = "DENY"
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
if PRODUCTION:
    # Behind a trusted proxy, its X-Forwarded-Proto is trusted and plain http is redirected; health checks come from
    # inside, without TLS.
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if COPILOT_TRUSTED_PROXIES else None
    SECURE_SSL_REDIRECT = bool(COPILOT_TRUSTED_PROXIES)
    SECURE_REDIRECT_EXEMPT = [r"^healthz$", r"^readyz$", r"^metrics$"]
    SECURE_HSTS_SECONDS = ENV.hsts_seconds
    SECURE_HSTS_INCLUDE_SUBDOMAINS = SECURE_HSTS_PRELOAD = False
    SILENCED_SYSTEM_CHECKS += [
        "security.W005",  # the policy must not cover other hosts of the same domain
        "security.W021",  # nor be preloaded into browsers, which keep it for years
    ]

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "accounts.api.authentication.ApiKeyAuthentication",
        "accounts.api.authentication.CookieAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_THROTTLE_CLASSES": ["accounts.api.throttling.WriteRate"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["copilot_project.web.parsers.StrictJSONParser"],
    "DEFAULT_PAGINATION_CLASS": "copilot_project.web.pagination.CursorPages",
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "EXCEPTION_HANDLER": "copilot_project.errors.handle",
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Ratchet",
    "DESCRIPTION": "A self-hosted AI copilot that never loses a turn.",
    "VERSION": "1",
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "REDOC_DIST": "SIDECAR",
    "SERVE_INCLUDE_SCHEMA": False,
    "TAGS": [{"name": name, "description": text} for name, text in TAGS.items()],
    "ENUM_NAME_OVERRIDES": {  # fields of several rows share a name, and each needs one of its own
        "AgentSourceEnum": "executions.models.agent.Agent.Source",
        "ExecutionSourceEnum": "executions.models.execution.Execution.Source",
        "ExecutionStatusEnum": "executions.models.status.PublicStatus",
        "CredentialKindEnum": "executions.models.credential.StoredCredential.Kind",
        "JobStatusEnum": "durable.models.STATUSES",
        "SessionStatusEnum": ["idle", "queued", "running"],
        "TurnKindEnum": "chat.models.Turn.Kind",
    },
    "POSTPROCESSING_HOOKS": [
        "drf_spectacular.hooks.postprocess_schema_enums",
        "copilot_project.web.openapi.add_errors",
        "tools.result_schemas.add_to_openapi",
    ],
}

LOG_AS_JSON = ENV.log_format == "json" or (ENV.log_format == "auto" and PRODUCTION)
LOGGING_CONFIG = "copilot_project.ops.log_format.configure"
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "filters": {"ids": {"()": "copilot_project.ops.log_format.Ids"}},
    "formatters": {
        "lines": {"()": f"copilot_project.ops.log_format.{'JsonLines' if LOG_AS_JSON else 'PlainLines'}"}
    },
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "lines", "filters": ["ids"]}},
    "root": {"handlers": ["console"], "level": ENV.log_level},
}
