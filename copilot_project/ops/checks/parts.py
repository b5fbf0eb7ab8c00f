"""Checks of what runs: database, Redis, broker, workers and model."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from django.conf import settings
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor
from django.db.models import Q, QuerySet
from kombu.exceptions import OperationalError as BrokerDown

from copilot_project import limits
from copilot_project.celery import app
from copilot_project.launcher.instance import find_instance
from copilot_project.ops.checks.check import Check, broken, well
from copilot_project.ops.checks.web import answers
from durable import worker_state
from durable.models import WorkerBeat
from durable.redis import RedisError, client
from llm import found_models
from llm.endpoint import Endpoint
from llm.endpoint_rows import known_rows
from llm.endpoints import endpoints, row_problems
from llm.errors import BadModelAnswer, BadModelRequest, LLMError

SHOWN_MODELS = 8
START_HINT = "Start everything with ./copilot up"


def database() -> Check:
    name = settings.DATABASES["default"]["NAME"]
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except DatabaseError as error:
        return broken("database", first_line(error), "Check DATABASE_URL and that the server is running")
    return well("database", f"{connection.vendor} {name}")


def migrations() -> Check:
    try:
        pending = pending_migrations()
    except DatabaseError as error:
        return broken("migrations", first_line(error), "Fix the database first")
    if pending:
        return broken("migrations", f"{pending} not applied", "Run ./copilot migrate, or ./copilot up")
    return well("migrations", "all applied")


def pending_migrations() -> int:
    executor = MigrationExecutor(connection)
    return len(executor.migration_plan(executor.loader.graph.leaf_nodes()))


def redis() -> Check:
    try:
        client().ping()
    except (RedisError, OSError) as error:
        hint = START_HINT if settings.ENV.embedded_redis else "Check REDIS_URL and that the server is running"
        return broken("redis", first_line(error), hint)
    return well("redis", "embedded" if settings.ENV.embedded_redis else "answers")


def broker() -> Check:
    kind = "RabbitMQ" if settings.CELERY_BROKER_URL.startswith("amqp") else "Redis"
    try:
        with app.connection_for_write(connect_timeout=limits.CHECK_SECONDS) as broker_connection:
            broker_connection.ensure_connection(max_retries=1, timeout=int(limits.CHECK_SECONDS))
    except (BrokerDown, OSError) as error:
        hint = (
            START_HINT
            if settings.ENV.embedded_redis
            else "Check CELERY_BROKER_URL and that the broker is running"
        )
        return broken("broker", first_line(error), hint)
    return well("broker", kind)


def workers() -> Check:
    """Check that at least one worker has sent a heartbeat recently."""
    try:
        kinds = list(live_workers().values_list("kind", flat=True))
    except DatabaseError as error:
        return broken("workers", first_line(error), "Fix the database and run the migrations first")
    if not kinds:
        return broken("workers", "no worker is alive", START_HINT)
    return well("workers", f"{len(kinds)} alive ({'; '.join(sorted(kinds))})")


def live_workers() -> QuerySet[WorkerBeat]:
    """Return the workers that have sent a heartbeat recently."""
    return WorkerBeat.objects.filter(seen_at__gt=worker_state.fresh_since())


def worker_is_alive(pid: int) -> bool:
    """Return whether the worker with this process id on this machine has sent a heartbeat."""
    try:
        return WorkerBeat.objects.filter(Q(name__contains=f":{pid}:")).exists()
    except DatabaseError:
        return False


def model() -> Check:
    offline = offline_model() if settings.ENV.offline_model else None
    if offline is not None and not offline.ok:
        return offline
    try:
        known = list(known_rows().endpoints) if offline else endpoints()
        told = row_problems()
    except BadModelRequest as error:
        return broken("model", error.user_message, "Correct the setting it names")
    told += [offline.message] if offline else [str(settings.COPILOT_MODEL or "default model")]
    with ThreadPoolExecutor(
        max_workers=max(len(known), 1)
    ) as pool:  # at once: one that is silent delays no other
        asked = list(zip(known, pool.map(ask_for_models, known), strict=True))
    told += [text for _, (ok, text) in asked if ok]
    failed = [(endpoint, text) for endpoint, (ok, text) in asked if not ok]
    if failed:
        hint = f"Check {'; '.join(settings_of(endpoint) for endpoint, _ in failed)}"
        return broken("model", "; ".join([*(text for _, text in failed), *told]), hint)
    return well("model", "; ".join(told))


def ask_for_models(endpoint: Endpoint) -> tuple[bool, str]:
    """Return whether an endpoint answers, and the models that it has or what is wrong."""
    try:
        return True, f"{named(endpoint)} has {in_short(found_models(endpoint, limits.CHECK_SECONDS))}"
    except LLMError as error:
        if may_lack_a_list(error):
            return True, f"{named(endpoint)} lists no models"
        return False, f"{named(endpoint)}: {error.user_message}"


def named(endpoint: Endpoint) -> str:
    return f"{endpoint.name} at {endpoint.shown_url}" if endpoint.name else endpoint.shown_url


def in_short(names: list[str]) -> str:
    """Return the names of the models, or the first few of them."""
    shown = ", ".join(sorted(names)[:SHOWN_MODELS])
    more = len(names) - SHOWN_MODELS
    return f"{shown} and {more} more" if more > 0 else shown or "no models"


def may_lack_a_list(error: LLMError) -> bool:
    """Return whether the server may work although it does not list its models."""
    return isinstance(error, BadModelAnswer) or "HTTP 404" in error.detail or "HTTP 405" in error.detail


def settings_of(endpoint: Endpoint) -> str:
    return f"{endpoint.key_setting}, {endpoint.url_setting} and the network"


def offline_model() -> Check:
    running = find_instance(settings.HOME)
    url = running.model_url if running else ""
    if not url or not answers(f"{url}/healthz", timeout=limits.CHECK_SECONDS):
        return broken("model", "the offline model is not running", f"{START_HINT}, or set OPENAI_API_KEY")
    return well("model", "the built-in offline model; set OPENAI_API_KEY or OPENAI_BASE_URL for a real one")


def first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__
