"""The processes the product is made of: how each is started, seen to be ready, and stopped."""

from __future__ import annotations

import socket
import sys
from collections.abc import Callable

from copilot_project.checks.web import answers
from copilot_project.embedded import redis
from copilot_project.embedded.child import Service
from copilot_project.embedded.places import LOOPBACK, Places
from copilot_project.env import Environment, embedded_socket, split
from durable import limits

OPERATION_QUEUES = ("operations", "webhooks")
WEB, WORKERS, LAST = 0, 1, 2  # stopped in this order


# --- programs of their own ----------------------------------------------------------------------


def redis_service(env: Environment) -> Service:
    folder, path = env.home_path / "redis", embedded_socket(env.home_path)
    redis.make_folders(folder, path)
    return Service(
        name="redis",
        command=redis.server_command(folder, path),
        ready=lambda pid: redis.is_up(path, timeout=limits.READY_PROBE_SECONDS),
        grace_seconds=limits.REDIS_STOP_SECONDS,
        stop_rank=LAST,
        hint="Is another Redis using this folder? Is the disk full?",
    )


def model_service(places: Places) -> Service:
    return Service(
        name="model",
        command=[
            *(sys.executable, "-m", "copilot_project.embedded.light", "llm", "offline_model"),
            *("--host", LOOPBACK, "--port", str(places.model_port)),
        ],
        ready=lambda pid: answers(f"{places.model_url}/healthz", timeout=limits.READY_PROBE_SECONDS),
        stop_rank=LAST,
        hint="Set OPENAI_API_KEY or OPENAI_BASE_URL to use a model of your own instead.",
    )


def flower_service(places: Places) -> Service:
    """Flower reads its options from the environment, where a password does not show in the process list."""
    told = {
        "FLOWER_BASIC_AUTH": places.flower_auth,
        "FLOWER_ADDRESS": places.flower_host,
        "FLOWER_PORT": str(places.flower_port),
    }
    return Service(
        name="flower",
        command=[sys.executable, "-m", "celery", "-A", "copilot_project.embedded.monitor", "flower"],
        environment=told,
        ready=lambda pid: answers(f"{places.flower_url}/healthcheck", timeout=limits.READY_PROBE_SECONDS),
        stop_rank=WORKERS,
    )


def ui_service() -> Service:
    command = [sys.executable, "-m", "copilot_project.embedded.ui"]
    return Service(name="ui", command=command, once=True, stop_rank=WEB)


# --- copies of the supervisor, which has loaded the product --------------------------------------


def web_service(env: Environment, places: Places) -> Service:
    host = split(env.allowed_hosts)[0].lstrip(".") if env.allowed_hosts else ""
    # Of a held IPv6 socket the server can take over none, so there it binds the port itself.
    held = places.web.family == socket.AF_INET
    if not held:
        places.web.close()
    return Service(
        name="web",
        module="copilot_project.server",
        command=["-e", f"fd:fileno={places.web.fileno()}"] if held else [],
        ready=lambda pid: answers(f"{places.url}/healthz", timeout=limits.READY_PROBE_SECONDS, host=host),
        grace_seconds=limits.WEB_STOP_SECONDS,
        stop_rank=WEB,
        gives_signs=True,
        pass_fds=(places.web.fileno(),) if held else (),
    )


def worker_service(
    env: Environment, name: str, queues: str, threads: int, ready: Callable[[int], bool]
) -> Service:
    """A Celery worker. The durable runtime (heartbeat, sweep, hand-over) starts in it by Celery's own signals."""
    return Service(
        name=name,
        module="celery",
        command=[
            *("-A", "copilot_project", "worker", "--pool", "threads", "--concurrency", str(threads)),
            *("--queues", queues, "--hostname", f"{name}@%h", "--without-gossip", "--without-mingle"),
            *("--loglevel", env.log_level),
        ],
        ready=ready,
        grace_seconds=limits.WORKER_STOP_SECONDS,
        stop_rank=WORKERS,
        gives_signs=True,
    )


def completions_service() -> Service:
    """Reads what outside services say about operations; in production a service of its own."""
    return Service(
        name="completions",
        module="django",
        command=["consume_completions"],
        stop_rank=WORKERS,
        gives_signs=True,
    )


def beat_service(env: Environment) -> Service:
    return Service(
        name="beat",
        module="celery",
        command=["-A", "copilot_project", "beat", "--pidfile=", "--loglevel", env.log_level],
        stop_rank=WORKERS,
        gives_signs=True,
    )
