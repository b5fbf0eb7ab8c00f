"""What a deployment needs besides: the set-up of its servers, a process for every role, and a proxy that fits."""

from __future__ import annotations

import socket
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from ipaddress import ip_network
from typing import Any
from urllib.parse import urlsplit

import httpx
from django.conf import settings
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.db import DatabaseError, connection

from accounts.sealing import CannotUnseal, unseal
from copilot_project.checks.check import Check, broken, well
from copilot_project.checks.parts import first_line, live_workers
from durable import alive, jobs, limits
from durable.connections import check_concurrency, pool_size
from durable.ids import new_id
from durable.redis import RedisError, client
from executions.credentials.rotation import SEALED
from tools import completions

OLDEST_POSTGRES = 14
OLDEST_REDIS = (6, 2)
BUSY_SHARE = 0.8
LEAST_KEY_CHARACTERS = 16
ROLE_OF_QUEUE = {
    "turns": "worker",
    "operations": "operations",
    "webhooks": "operations",
    "executions": "executions",
}
REDIRECTS = (301, 302, 307, 308)
SWITCHED_OR_REFUSED = (101, 401, 403)  # what the sockets answer a stranger; a plain request gets 404


# --- servers --------------------------------------------------------------------------------------


def postgres() -> Check:
    if connection.vendor != "postgresql":
        hint = "Set DATABASE_URL to a PostgreSQL database: SQLite is for one machine"
        return broken("postgresql", f"the database is {connection.vendor}", hint, needed=False)
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT current_setting('server_version_num')::int / 10000, version()")
            version, said = cursor.fetchone()
    except DatabaseError as error:
        return broken("postgresql", first_line(error), "Check DATABASE_URL and that the server runs")
    if version < OLDEST_POSTGRES:
        return broken("postgresql", f"version {version}", f"Upgrade it to {OLDEST_POSTGRES} or newer")
    return well("postgresql", " ".join(said.split()[:2]))


def connections() -> Check:
    """Whether there is room for the pools of all processes."""
    if connection.vendor != "postgresql":
        return well("connections", "SQLite needs none", needed=False)
    try:
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT (SELECT count(*) FROM pg_stat_activity), current_setting('max_connections')::int"
            )
            used, most = cursor.fetchone()
    except DatabaseError as error:
        return broken("connections", first_line(error), "Repair the database first", needed=False)
    if used > BUSY_SHARE * most:
        hint = "Raise max_connections, or put a pooler in session mode between"
        return broken("connections", f"{used} of {most} are taken", hint, needed=False)
    return well("connections", f"{used} of {most} are taken", needed=False)


def pool() -> Check:
    """Whether the pool of one process is large enough for the threads of any role."""
    size = pool_size()
    if size is None:
        return well("database pool", "SQLite needs none", needed=False)
    most = max(
        settings.COPILOT_WORKER_CONCURRENCY,
        settings.COPILOT_OPERATIONS_CONCURRENCY,
        settings.COPILOT_EXECUTIONS_CONCURRENCY,
    )
    if problem := check_concurrency(most, size):
        told, _, hint = problem.partition(". ")
        return broken("database pool", told, hint, needed=False)
    return well("database pool", f"{size} connections for {most} jobs at once", needed=False)


def redis_facts() -> dict[str, Any]:
    """What Redis says of itself; needs no right to read its configuration, which hosted servers refuse."""
    found: dict[str, Any] = client().info("all")
    return found


def redis_version() -> Check:
    return redis_fact("redis version", version_of)


def redis_memory() -> Check:
    return redis_fact("redis memory", memory_of)


def redis_disk() -> Check:
    return redis_fact("redis disk", disk_of)


def redis_fact(name: str, judge: Any) -> Check:
    try:
        found: Check = judge(redis_facts())
    except (RedisError, OSError) as error:
        return broken(name, first_line(error), "Check REDIS_URL and that the server runs")
    return found


def version_of(facts: dict[str, Any]) -> Check:
    version = str(facts.get("redis_version", "0"))
    if tuple(int(part) for part in version.split(".")[:2]) < OLDEST_REDIS:
        return broken("redis version", version, "Upgrade Redis to 6.2 or newer")
    return well("redis version", version)


def memory_of(facts: dict[str, Any]) -> Check:
    policy = str(facts.get("maxmemory_policy", "unknown"))
    if policy != "noeviction":
        hint = "Set maxmemory-policy noeviction: anything else throws away what people are reading"
        return broken("redis memory", f"the policy is {policy}", hint)
    used, most = int(facts.get("used_memory", 0)), int(facts.get("maxmemory", 0))
    if most and used > BUSY_SHARE * most:
        hint = "Raise maxmemory, or lower COPILOT_STREAM_TTL_SECONDS"
        return broken("redis memory", f"{used / most:.0%} of maxmemory is used", hint)
    return well("redis memory", f"noeviction, {used / 2**20:.0f} MB used")


def disk_of(facts: dict[str, Any]) -> Check:
    """Nothing is lost without it, but people wait after a restart until workers find what was left behind."""
    if not facts.get("aof_enabled"):
        return broken("redis disk", "no append-only file", "Set appendonly yes", needed=False)
    if facts.get("aof_last_write_status", "ok") != "ok":
        return broken("redis disk", "the append-only file cannot be written", "Free some space on its disk")
    return well("redis disk", "append-only file", needed=False)


# --- roles ----------------------------------------------------------------------------------------


def queues() -> Check:
    """A live worker for every queue."""
    try:
        served = Counter(
            queue for kind in live_workers().values_list("kind", flat=True) for queue in kind.split(",")
        )
    except DatabaseError as error:
        return broken("queues", first_line(error), "Repair the database and run the migrations first")
    wanted = sorted({model.queue for model in jobs.job_models() if model.queue in ROLE_OF_QUEUE})
    alone = [queue for queue in wanted if not served[queue]]
    if alone:
        roles = ", ".join(sorted({ROLE_OF_QUEUE[queue] for queue in alone}))
        return broken("queues", f"nobody serves {', '.join(alone)}", f"Start docker/entrypoint for: {roles}")
    return well("queues", ", ".join(f"{queue}: {served[queue]}" for queue in wanted))


def beat() -> Check:
    found = living("beat")
    if isinstance(found, Check):
        return found
    if not found:
        hint = "Start docker/entrypoint beat; without it no schedule starts and nothing old is removed"
        return broken("beat", "none gave a sign of life", hint)
    if len(found) > 1:
        return well("beat", f"{len(found)} run where one is enough: {', '.join(sorted(found))}")
    return well("beat", found[0])


def consumer() -> Check:
    """Needed once an outside service has written to the stream."""
    found = living(completions.GROUP)
    if isinstance(found, Check):
        return found
    if not found:
        used = bool(client().exists(completions.STREAM))
        hint = "Start docker/entrypoint completions, which hears what outside services answer"
        return broken("completions", "no consumer gave a sign of life", hint, needed=used)
    return well("completions", ", ".join(sorted(found)))


def living(role: str) -> list[str] | Check:
    try:
        return alive.living(role)
    except (RedisError, OSError) as error:
        name = "completions" if role == completions.GROUP else role
        return broken(name, first_line(error), "Check REDIS_URL and that the server runs")


# --- settings -------------------------------------------------------------------------------------


def keys() -> Check:
    """Whether ENCRYPTION_KEYS open what is sealed in the database: the oldest and the newest of each kind."""
    sealed = 0
    try:
        for token in some_sealed():
            unseal(token)
            sealed += 1
    except ValueError:
        hint = "Make one with ./copilot makekeys, or put back the one you had"
        return broken("keys", "ENCRYPTION_KEYS has a key that is none", hint)
    except CannotUnseal:
        hint = "Put back the key it was sealed with, after the newest: ENCRYPTION_KEYS=NEW,OLD"
        return broken("keys", "ENCRYPTION_KEYS do not open a stored secret", hint)
    except DatabaseError as error:
        return broken("keys", first_line(error), "Repair the database first")
    for name in ("INTERNAL_API_KEY", "FLOWER_BASIC_AUTH"):
        if trouble := too_short(name):
            return trouble
    return well("keys", f"{len(settings.ENCRYPTION_KEYS)} to seal with, {sealed} stored secrets tried")


def some_sealed() -> Iterator[str]:
    for model, names in SEALED:
        for name in names:
            rows = model._default_manager.exclude(**{name: ""}).order_by("pk")
            for row in (rows.first(), rows.last()):
                if row is not None:
                    yield getattr(row, name)


def too_short(name: str) -> Check | None:
    value = {
        "INTERNAL_API_KEY": settings.ENV.internal_api_key,
        "FLOWER_BASIC_AUTH": settings.ENV.flower_basic_auth,
    }[name]
    secret = value.partition(":")[2] if name == "FLOWER_BASIC_AUTH" else value
    if value and len(secret) < LEAST_KEY_CHARACTERS:
        return broken("keys", f"{name} is short", f"Take {LEAST_KEY_CHARACTERS} characters or more by chance")
    return None


def hosts() -> Check:
    """Whether the public address is one the site answers to, and takes forms from."""
    site = urlsplit(settings.SITE_URL)
    if not settings.ENV.site_url or site.scheme != "https":
        return broken("hosts", f"SITE_URL is {settings.SITE_URL}", "Set it to the public https:// address")
    if not is_allowed(site.hostname or ""):
        return broken("hosts", f"ALLOWED_HOSTS lacks {site.hostname}", "Add the host of SITE_URL to it")
    if f"https://{site.netloc}" not in settings.CSRF_TRUSTED_ORIGINS:
        hint = f"Set it to https://{site.netloc}"
        return broken("hosts", "CSRF_TRUSTED_ORIGINS lacks the public address", hint)
    return well("hosts", settings.SITE_URL)


def is_allowed(host: str) -> bool:
    return any(
        host == name or (name.startswith(".") and host.endswith(name)) for name in settings.ALLOWED_HOSTS
    )


def trusted_proxies() -> Check:
    if not settings.COPILOT_TRUSTED_PROXIES:
        hint = "Set it to the address of your proxy: until then https is not enforced, and everybody has its address"
        return broken("proxies", "COPILOT_TRUSTED_PROXIES is empty", hint)
    for name in settings.COPILOT_TRUSTED_PROXIES:
        try:
            network = ip_network(name, strict=False)
        except ValueError:
            return broken("proxies", f"{name} is no address or network", "Write 10.0.0.5 or 10.0.0.0/8")
        if network.num_addresses > 2**32 or not network.prefixlen:
            return broken("proxies", f"{name} trusts everybody", "Name your proxy's address or network only")
    return well("proxies", ", ".join(settings.COPILOT_TRUSTED_PROXIES))


def public_site() -> Check:
    """Ask for a page as the world does: through the proxy, with TLS."""
    url = f"{settings.SITE_URL}/login/"
    try:
        answer = httpx.get(url, timeout=limits.CHECK_SECONDS)
    except httpx.HTTPError as error:
        hint = "Check the name, the certificate and that the proxy runs; skip this where the host cannot reach itself"
        return broken("public site", f"{url}: {first_line(error)}", hint, needed=False)
    if answer.status_code in REDIRECTS:
        hint = "Let the proxy set X-Forwarded-Proto, and name its address in COPILOT_TRUSTED_PROXIES"
        return broken("public site", f"{url} sends people in a circle", hint)
    if answer.status_code != httpx.codes.OK:
        return broken("public site", f"{url} answers {answer.status_code}", "Look at the proxy's log")
    if httpx.get(f"{settings.SITE_URL}/metrics", timeout=limits.CHECK_SECONDS).status_code == httpx.codes.OK:
        hint = "Let the proxy answer 404 there, as docker/nginx.conf and docker/Caddyfile do"
        return broken("public site", "/metrics is open to the world", hint, needed=False)
    return well("public site", settings.SITE_URL, needed=False)


def public_sockets() -> Check:
    """Ask for a websocket through the proxy; one that does not pass it on makes a plain request of it."""
    headers = {
        "Connection": "Upgrade",
        "Upgrade": "websocket",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": "cmF0Y2hldCBkb2N0b3I9PQ==",
        "Origin": settings.SITE_URL,
    }
    try:
        with httpx.stream(
            "GET", f"{settings.SITE_URL}/ws/events/", headers=headers, timeout=limits.CHECK_SECONDS
        ) as answer:
            status = answer.status_code
    except httpx.HTTPError as error:
        return broken("websockets", first_line(error), "Repair the public site first", needed=False)
    if status not in SWITCHED_OR_REFUSED:
        hint = "Let the proxy pass Upgrade and Connection on, as docker/nginx.conf does"
        return broken("websockets", f"the proxy answers {status}", hint)
    return well("websockets", "pass the proxy", needed=False)


# --- files ----------------------------------------------------------------------------------------


def storage() -> Check:
    """Write a file where people's files go, read it and take it away."""
    place = f"the bucket {settings.ENV.s3_bucket}" if settings.ENV.s3_bucket else str(settings.HOME / "files")
    hint = (
        "Check COPILOT_S3_BUCKET, COPILOT_S3_ENDPOINT_URL and the AWS_ keys, and install requirements/s3.txt"
        if settings.ENV.s3_bucket
        else "Give the user of the processes the folder, on a disk all machines share"
    )
    name, words = f"doctor/{new_id()}-{socket.gethostname()}", b"is this kept?"
    try:
        kept = default_storage.save(name, ContentFile(words))
        try:
            with default_storage.open(kept) as file:
                same = file.read() == words
        finally:
            with suppress(FileNotFoundError):
                default_storage.delete(kept)
    except Exception as error:  # noqa: BLE001 each kind of storage has errors of its own
        return broken("storage", f"{place}: {first_line(error)}", hint)
    if not same:
        return broken("storage", f"{place} gives back something else", hint)
    return well("storage", place)
