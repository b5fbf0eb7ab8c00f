"""The processes of the product: how each is started, checked and stopped."""

from __future__ import annotations

import socket
import sys
from collections.abc import Callable, Mapping, Sequence

from copilot_project import limits
from copilot_project.env import Environment, embedded_socket, split
from copilot_project.launcher import redis
from copilot_project.launcher.bind_addresses import BindAddresses
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


def model_service(listener: socket.socket) -> Service:
    """Return the offline model, which starts when it is first asked; a fork is there in a moment."""
    return Service(
        name="model",
        module="copilot_project.launcher.fast_command",
        command=["llm", "offline_model", "--fd", str(listener.fileno())],
        listener=listener,
        stop_rank=LAST,
        hint="Set OPENAI_API_KEY or OPENAI_BASE_URL to use another model instead.",
    )


def flower_service(addresses: BindAddresses) -> Service:
    """Return Flower, which starts when somebody opens it and then asks the workers for events.

    Its options are in the environment, since the process list would show the password.
    """
    options = {
        "FLOWER_BASIC_AUTH": addresses.flower_auth,
        "FLOWER_ADDRESS": addresses.flower_host,
        "FLOWER_PORT": str(addresses.flower_port),
    }
    return Service(
        name="flower",
        command=[sys.executable, "-m", "copilot_project.launcher.flower", str(addresses.flower.fileno())],
        environment=options,
        listener=addresses.flower,
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
    env: Environment,
    name: str,
    queues: Mapping[str, int],
    ready: Callable[[int], bool],
    parts: Sequence[str] = (),
) -> Service:
    """Return a Celery worker; signals of Celery start the durable runtime (heartbeat, sweep, hand-over) in it."""
    return Service(
        name=name,
        module="copilot_project.worker",
        command=[
            name,
            *(f"--queue={queue}={count}" for queue, count in queues.items()),
            *(f"--part={part}" for part in parts),
            f"--loglevel={env.log_level}",
        ],
        ready=ready,
        grace_seconds=limits.WORKER_STOP_SECONDS,
        stop_rank=WORKERS,
        reports_liveness=True,
    )


def turns_service(env: Environment, ready: Callable[[int], bool]) -> Service:
    return worker_service(env, "turns", {"turns": env.worker_concurrency}, ready)


def background_service(env: Environment, ready: Callable[[int], bool]) -> Service:
    """Return the worker of everything but turns, with beat and the consumer of completions in its process."""
    queues = dict.fromkeys(OPERATION_QUEUES, env.operations_concurrency)
    queues["executions"] = env.executions_concurrency
    return worker_service(env, "background", queues, ready, parts=("beat", "completions"))
