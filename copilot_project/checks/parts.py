"""The parts that run: database, Redis, broker, workers, model."""

from __future__ import annotations

from django.conf import settings
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor
from django.db.models import Q, QuerySet
from kombu.exceptions import OperationalError as BrokerDown

from copilot_project.celery import app
from copilot_project.checks.check import Check, broken, well
from copilot_project.checks.web import answers
from copilot_project.embedded.instance import find_instance
from durable import limits, signs_of_life
from durable.models import WorkerBeat
from durable.redis import RedisError, client

START_HINT = "Start everything with ./copilot up"


def database() -> Check:
    name = settings.DATABASES["default"]["NAME"]
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except DatabaseError as error:
        return broken("database", first_line(error), "Check DATABASE_URL and that the server runs")
    return well("database", f"{connection.vendor} {name}")


def migrations() -> Check:
    try:
        pending = pending_migrations()
    except DatabaseError as error:
        return broken("migrations", first_line(error), "Repair the database first")
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
        hint = START_HINT if settings.ENV.embedded_redis else "Check REDIS_URL and that the server runs"
        return broken("redis", first_line(error), hint)
    return well("redis", "embedded" if settings.ENV.embedded_redis else "answers")


def broker() -> Check:
    kind = "RabbitMQ" if settings.CELERY_BROKER_URL.startswith("amqp") else "Redis"
    try:
        with app.connection_for_write(connect_timeout=limits.CHECK_SECONDS) as broker_connection:
            broker_connection.ensure_connection(max_retries=1, timeout=int(limits.CHECK_SECONDS))
    except (BrokerDown, OSError) as error:
        hint = (
            START_HINT if settings.ENV.embedded_redis else "Check CELERY_BROKER_URL and that the broker runs"
        )
        return broken("broker", first_line(error), hint)
    return well("broker", kind)


def workers() -> Check:
    """At least one worker gave a sign of life lately."""
    try:
        kinds = list(live_workers().values_list("kind", flat=True))
    except DatabaseError as error:
        return broken("workers", first_line(error), "Repair the database and run the migrations first")
    if not kinds:
        return broken("workers", "none is alive", START_HINT)
    return well("workers", f"{len(kinds)} alive ({', '.join(sorted(kinds))})")


def live_workers() -> QuerySet[WorkerBeat]:
    """The workers that gave a sign of life lately."""
    return WorkerBeat.objects.filter(seen_at__gt=signs_of_life.fresh_since())


def worker_is_alive(pid: int) -> bool:
    """Whether the worker with this process id on this machine has reported for duty."""
    try:
        return WorkerBeat.objects.filter(Q(name__contains=f":{pid}:")).exists()
    except DatabaseError:
        return False


def model() -> Check:
    if settings.ENV.offline_model:
        return offline_model()
    import httpx  # a third of a second that the web tier starts without

    base = settings.OPENAI_BASE_URL or "https://api.openai.com/v1"
    headers = {"Authorization": f"Bearer {settings.OPENAI_API_KEY}"} if settings.OPENAI_API_KEY else {}
    try:
        answer = httpx.get(f"{base.rstrip('/')}/models", headers=headers, timeout=limits.CHECK_SECONDS)
    except httpx.HTTPError as error:
        return broken("model", f"{base}: {first_line(error)}", "Check OPENAI_BASE_URL and the network")
    if answer.status_code in (401, 403):
        return broken("model", f"{base} refuses the key", "Check OPENAI_API_KEY")
    if answer.status_code >= 500:
        return broken("model", f"{base} answers {answer.status_code}", "Wait, or choose another endpoint")
    return well("model", f"{settings.COPILOT_MODEL or 'default model'} at {base}")


def offline_model() -> Check:
    running = find_instance(settings.HOME)
    url = running.model_url if running else ""
    if not url or not answers(f"{url}/healthz", timeout=limits.CHECK_SECONDS):
        return broken("model", "the offline model does not run", f"{START_HINT}, or set OPENAI_API_KEY")
    return well("model", "the built-in offline model; set OPENAI_API_KEY or OPENAI_BASE_URL for a real one")


def first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__
