"""Checks of a production deployment: its servers, roles, settings, proxy and storage."""

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

from copilot_project import limits
from copilot_project.ops.checks.check import Check, broken, well
from copilot_project.ops.checks.parts import first_line, live_workers
from durable import jobs, liveness
from durable.database import check_concurrency, pool_size
from durable.encryption import CannotUnseal, unseal
from durable.ids import new_id
from durable.redis import RedisError, client
from executions.credentials.rotation import SEALED
from tools.operations import completion_stream
from workspace.errors import ScannerUnavailable
from workspace.virus_scanner import scanner_version

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
SWITCHED_OR_REFUSED = (101, 401, 403)  # answers to an anonymous websocket; a plain request gets 404


# --- servers --------------------------------------------------------------------------------------


def postgres() -> Check:
    if connection.vendor != "postgresql":
        hint = "Set DATABASE_URL to a PostgreSQL database; SQLite works on one machine only"
        return broken("postgresql", f"the database is {connection.vendor}", hint, needed=False)
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT current_setting('server_version_num')::int / 10000, version()")
            version, said = cursor.fetchone()
    except DatabaseError as error:
        return broken("postgresql", first_line(error), "Check DATABASE_URL and that the server is running")
    if version < OLDEST_POSTGRES:
        return broken("postgresql", f"version {version}", f"Upgrade PostgreSQL to {OLDEST_POSTGRES} or newer")
    return well("postgresql", " ".join(said.split()[:2]))


def connections() -> Check:
    """Check that the server has connections left for the pools of all processes."""
    if connection.vendor != "postgresql":
        return well("connections", "SQLite needs none", needed=False)
    try:
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT (SELECT count(*) FROM pg_stat_activity), current_setting('max_connections')::int"
            )
            used, most = cursor.fetchone()
    except DatabaseError as error:
        return broken("connections", first_line(error), "Fix the database first", needed=False)
    if used > BUSY_SHARE * most:
        hint = "Raise max_connections, or put a connection pooler in session mode in front"
        return broken("connections", f"{used} of {most} are in use", hint, needed=False)
    return well("connections", f"{used} of {most} are in use", needed=False)


def pool() -> Check:
    """Check that the pool of one process is large enough for the threads of every role."""
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
    """Return what INFO says; CONFIG GET would need a right that hosted servers refuse."""
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
        return broken(name, first_line(error), "Check REDIS_URL and that the server is running")
    return found


def version_of(facts: dict[str, Any]) -> Check:
    version = str(facts.get("redis_version", "0"))
    if tuple(int(part) for part in version.split(".")[:2]) < OLDEST_REDIS:
        return broken("redis version", version, "Upgrade Redis to 6.2 or newer")
    return well("redis version", version)


def memory_of(facts: dict[str, Any]) -> Check:
    policy = str(facts.get("maxmemory_policy", "unknown"))
    if policy != "noeviction":
        hint = "Set maxmemory-policy noeviction: other policies delete events that clients are still reading"
        return broken("redis memory", f"the policy is {policy}", hint)
    used, most = int(facts.get("used_memory", 0)), int(facts.get("maxmemory", 0))
    if most and used > BUSY_SHARE * most:
        hint = "Raise maxmemory, or lower COPILOT_STREAM_TTL_SECONDS"
        return broken("redis memory", f"{used / most:.0%} of maxmemory is used", hint)
    return well("redis memory", f"noeviction, {used / 2**20:.0f} MB used")


def disk_of(facts: dict[str, Any]) -> Check:
    """Check the append-only file: without it nothing is lost, but after a restart jobs wait for the sweep."""
    if not facts.get("aof_enabled"):
        return broken("redis disk", "no append-only file", "Set appendonly yes", needed=False)
    if facts.get("aof_last_write_status", "ok") != "ok":
        return broken(
            "redis disk", "the append-only file cannot be written", "Free space on the disk of Redis"
        )
    return well("redis disk", "append-only file", needed=False)


# --- roles ----------------------------------------------------------------------------------------


def queues() -> Check:
    """Check that every queue has a live worker."""
    try:
        served = Counter(
            queue for kind in live_workers().values_list("kind", flat=True) for queue in kind.split(",")
        )
    except DatabaseError as error:
        return broken("queues", first_line(error), "Fix the database and run the migrations first")
    wanted = sorted({model.queue for model in jobs.job_models() if model.queue in ROLE_OF_QUEUE})
    unserved = [queue for queue in wanted if not served[queue]]
    if unserved:
        roles = ", ".join(sorted({ROLE_OF_QUEUE[queue] for queue in unserved}))
        return broken(
            "queues", f"no worker serves {', '.join(unserved)}", f"Start docker/entrypoint for: {roles}"
        )
    return well("queues", ", ".join(f"{queue}: {served[queue]}" for queue in wanted))


def beat() -> Check:
    found = living("beat")
    if isinstance(found, Check):
        return found
    if not found:
        hint = "Start docker/entrypoint beat; without it schedules start a few seconds late and nothing old is removed"
        return broken("beat", "it is not running", hint)
    if len(found) > 1:
        return well("beat", f"{len(found)} run where one is enough: {', '.join(sorted(found))}")
    return well("beat", found[0])


def consumer() -> Check:
    """Check the completions consumer, which is required once an external service has used the stream."""
    found = living(completion_stream.GROUP)
    if isinstance(found, Check):
        return found
    if not found:
        used = bool(client().exists(completion_stream.STREAM))
        hint = "Start docker/entrypoint completions, which reads the results of external services"
        return broken("completions", "no consumer is alive", hint, needed=used)
    return well("completions", ", ".join(sorted(found)))


def living(role: str) -> list[str] | Check:
    try:
        return liveness.living(role)
    except (RedisError, OSError) as error:
        name = "completions" if role == completion_stream.GROUP else role
        return broken(name, first_line(error), "Check REDIS_URL and that the server is running")


# --- settings -------------------------------------------------------------------------------------


def keys() -> Check:
    """Check that ENCRYPTION_KEYS decrypt the oldest and the newest stored secret of each kind."""
    sealed = 0
    try:
        for token in some_sealed():
            unseal(token)
            sealed += 1
    except ValueError:
        hint = "Generate one with ./copilot makekeys, or restore the previous one"
        return broken("keys", "ENCRYPTION_KEYS contains an invalid key", hint)
    except CannotUnseal:
        hint = "Append the key it was encrypted with: ENCRYPTION_KEYS=NEW,OLD"
        return broken("keys", "ENCRYPTION_KEYS cannot decrypt a stored secret", hint)
    except DatabaseError as error:
        return broken("keys", first_line(error), "Fix the database first")
    for name in ("INTERNAL_API_KEY", "FLOWER_BASIC_AUTH"):
        if trouble := too_short(name):
            return trouble
    return well("keys", f"{len(settings.ENCRYPTION_KEYS)} configured; {sealed} stored secrets decrypted")


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
        return broken(
            "keys", f"{name} is too short", f"Use at least {LEAST_KEY_CHARACTERS} random characters"
        )
    return None


def hosts() -> Check:
    """Check that the site serves its public address and accepts forms from it."""
    site = urlsplit(settings.SITE_URL)
    if not settings.ENV.site_url or site.scheme != "https":
        return broken("hosts", f"SITE_URL is {settings.SITE_URL}", "Set it to the public https:// URL")
    if not is_allowed(site.hostname or ""):
        return broken("hosts", f"ALLOWED_HOSTS does not contain {site.hostname}", "Add the host of SITE_URL")
    if f"https://{site.netloc}" not in settings.CSRF_TRUSTED_ORIGINS:
        hint = f"Set it to https://{site.netloc}"
        return broken("hosts", "CSRF_TRUSTED_ORIGINS does not contain the public address", hint)
    return well("hosts", settings.SITE_URL)


def is_allowed(host: str) -> bool:
    return any(
        host == name or (name.startswith(".") and host.endswith(name)) for name in settings.ALLOWED_HOSTS
    )


def trusted_proxies() -> Check:
    if not settings.COPILOT_TRUSTED_PROXIES:
        hint = "Set it to the address of your proxy; until then https is not enforced and all clients share its address"
        return broken("proxies", "COPILOT_TRUSTED_PROXIES is empty", hint)
    for name in settings.COPILOT_TRUSTED_PROXIES:
        try:
            network = ip_network(name, strict=False)
        except ValueError:
            return broken(
                "proxies", f"{name} is not an address or network", "Use the form 10.0.0.5 or 10.0.0.0/8"
            )
        if network.num_addresses > 2**32 or not network.prefixlen:
            return broken(
                "proxies", f"{name} trusts everyone", "Enter only the address or network of your proxy"
            )
    return well("proxies", ", ".join(settings.COPILOT_TRUSTED_PROXIES))


def public_site() -> Check:
    """Request a page from its public URL, through the proxy and TLS."""
    url = f"{settings.SITE_URL}/login/"
    try:
        answer = httpx.get(url, timeout=limits.CHECK_SECONDS)
    except httpx.HTTPError as error:
        hint = "Check DNS, the certificate and that the proxy is running; ignore this if the host cannot reach itself"
        return broken("public site", f"{url}: {first_line(error)}", hint, needed=False)
    if answer.status_code in REDIRECTS:
        hint = "Have the proxy set X-Forwarded-Proto, and add its address to COPILOT_TRUSTED_PROXIES"
        return broken("public site", f"{url} redirects in a loop", hint)
    if answer.status_code != httpx.codes.OK:
        return broken("public site", f"{url} answers {answer.status_code}", "See the log of the proxy")
    if httpx.get(f"{settings.SITE_URL}/metrics", timeout=limits.CHECK_SECONDS).status_code == httpx.codes.OK:
        hint = "Have the proxy answer 404 there, as docker/nginx.conf and docker/Caddyfile do"
        return broken("public site", "/metrics is public", hint, needed=False)
    return well("public site", settings.SITE_URL, needed=False)


def public_sockets() -> Check:
    """Open a websocket through the proxy; one that drops the Upgrade header turns it into a plain request."""
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
        return broken("websockets", first_line(error), "Fix the public site first", needed=False)
    if status not in SWITCHED_OR_REFUSED:
        hint = "Have the proxy forward Upgrade and Connection, as docker/nginx.conf does"
        return broken("websockets", f"the proxy answers {status}", hint)
    return well("websockets", "work through the proxy", needed=False)


# --- files ----------------------------------------------------------------------------------------


def storage() -> Check:
    """Write a file to the storage of workspace files, read it back and delete it."""
    where = f"the bucket {settings.ENV.s3_bucket}" if settings.ENV.s3_bucket else str(settings.HOME / "files")
    hint = (
        "Check COPILOT_S3_BUCKET, COPILOT_S3_ENDPOINT_URL and the AWS_ keys, and install requirements/s3.txt"
        if settings.ENV.s3_bucket
        else "Make the folder writable for the processes, on storage that all machines share"
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
        return broken("storage", f"{where}: {first_line(error)}", hint)
    if not same:
        return broken("storage", f"{where} returned other content than was written", hint)
    return well("storage", where)


def upload_scanner() -> Check:
    """Ask the virus scanner of uploads for its version."""
    if not settings.COPILOT_UPLOAD_SCANNER:
        return well("upload scanner", "none: files are not scanned for viruses", needed=False)
    try:
        return well("upload scanner", scanner_version())
    except ScannerUnavailable:
        hint = "Start clamd or correct COPILOT_UPLOAD_SCANNER; until then no file can be saved"
        return broken("upload scanner", f"{settings.COPILOT_UPLOAD_SCANNER} does not answer", hint)
