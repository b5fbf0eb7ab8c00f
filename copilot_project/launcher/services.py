"""The processes of the product: how each is started, checked and stopped."""

from __future__ import annotations

import socket
import sys
from collections.abc import Callable

from copilot_project import limits
from copilot_project.env import Environment, embedded_socket, split
from copilot_project.launcher import redis
from copilot_project.launcher.bind_addresses import LOOPBACK, BindAddresses
from copilot_project.launcher.child import Service
from copilot_project.ops.checks.web import answers

OPERATION_QUEUES = ("operations", "webhooks")
WEB, WORKERS, LAST = 0, 1, 2  # stopped in this order


# --- separate programs -------------------------------------------------------------------------


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


def model_service(addresses: BindAddresses) -> Service:
    return Service(
        name="model",
        command=[
            *(sys.executable, "-m", "copilot_project.launcher.fast_command", "llm", "offline_model"),
            *("--host", LOOPBACK, "--port", str(addresses.model_port)),
        ],
        ready=lambda pid: answers(f"{addresses.model_url}/healthz", timeout=limits.READY_PROBE_SECONDS),
        stop_rank=LAST,
        hint="Set OPENAI_API_KEY or OPENAI_BASE_URL to use another model instead.",
    )


def flower_service(addresses: BindAddresses) -> Service:
    """Return Flower; its options are in the environment, since the process list would show the password."""
    options = {
        "FLOWER_BASIC_AUTH": addresses.flower_auth,
        "FLOWER_ADDRESS": addresses.flower_host,
        "FLOWER_PORT": str(addresses.flower_port),
    }
    return Service(
        name="flower",
        command=[sys.executable, "-m", "celery", "-A", "copilot_project.launcher.monitor", "flower"],
        environment=options,
        ready=lambda pid: answers(f"{addresses.flower_url}/healthcheck", timeout=limits.READY_PROBE_SECONDS),
        stop_rank=WORKERS,
    )


def ui_service() -> Service:
    command = [sys.executable, "-m", "copilot_project.launcher.ui"]
    return Service(name="ui", command=command, once=True, stop_rank=WEB)


# --- forks of the supervisor, which has loaded the product --------------------------------------


def web_service(env: Environment, addresses: BindAddresses) -> Service:
    host = split(env.allowed_hosts)[0].lstrip(".") if env.allowed_hosts else ""
    # The server cannot take over an IPv6 socket, so there it binds the port itself.
    held = addresses.web.family == socket.AF_INET
    if not held:
        addresses.web.close()
    return Service(
        name="web",
        module="copilot_project.server",
        command=["-e", f"fd:fileno={addresses.web.fileno()}"] if held else [],
        ready=lambda pid: answers(f"{addresses.url}/healthz", timeout=limits.READY_PROBE_SECONDS, host=host),
        grace_seconds=limits.WEB_STOP_SECONDS,
        stop_rank=WEB,
        reports_liveness=True,
        pass_fds=(addresses.web.fileno(),) if held else (),
    )


def worker_service(
    env: Environment, name: str, queues: str, threads: int, ready: Callable[[int], bool]
) -> Service:
    """Return a Celery worker; signals of Celery start the durable runtime (heartbeat, sweep, hand-over) in it."""
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
        reports_liveness=True,
    )


def completions_service() -> Service:
    """Return the consumer that reads the results of external services."""
    return Service(
        name="completions",
        module="django",
        command=["consume_completions"],
        stop_rank=WORKERS,
        reports_liveness=True,
    )


def beat_service(env: Environment) -> Service:
    return Service(
        name="beat",
        module="celery",
        command=["-A", "copilot_project", "beat", "--pidfile=", "--loglevel", env.log_level],
        stop_rank=WORKERS,
        reports_liveness=True,
    )
