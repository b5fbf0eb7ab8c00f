"""The addresses and ports that the processes of one start listen on."""

from __future__ import annotations

import errno
import socket
from collections.abc import Callable
from dataclasses import dataclass

from copilot_project import secrets
from copilot_project.env import MAX_PORT, Environment
from copilot_project.launcher.errors import CannotStart

LOOPBACK = "127.0.0.1"
WILDCARDS = {"0.0.0.0": LOOPBACK, "::": "::1", "": LOOPBACK}  # noqa: S104
PORT_TRIES = 100
BACKLOG = 1024


class NoFreePort(CannotStart):
    """No port near the wanted one is free."""


@dataclass(frozen=True, kw_only=True)
class BindAddresses:
    """Where each process listens. The supervisor keeps the sockets open, so that no other program can take their
    ports and clients wait instead of being refused while a process is replaced or not started yet."""

    web: socket.socket
    host: str
    port: int
    flower: socket.socket
    flower_host: str
    flower_auth: str
    model: socket.socket | None

    @property
    def flower_port(self) -> int:
        return port_of(self.flower)

    @property
    def model_port(self) -> int:
        return port_of(self.model) if self.model else 0

    @property
    def url(self) -> str:
        return f"http://{browsable(self.host)}:{self.port}"

    @property
    def flower_url(self) -> str:
        return f"http://{browsable(self.flower_host)}:{self.flower_port}"

    @property
    def model_url(self) -> str:
        return f"http://{LOOPBACK}:{self.model_port}" if self.model_port else ""


def find_addresses(env: Environment, say: Callable[[str], None]) -> BindAddresses:
    """Take the configured ports, or the next free ones and report that."""
    flower_host = env.host if env.flower_basic_auth else LOOPBACK
    web = listen(env.host, env.port)
    addresses = BindAddresses(
        web=web,
        host=env.host,
        port=port_of(web),
        flower=listen(flower_host, env.flower_port),
        flower_host=flower_host,
        flower_auth=env.flower_basic_auth or secrets.flower_auth(env.home_path),
        model=listen(LOOPBACK, env.offline_model_port) if env.offline_model else None,
    )
    for name, wanted, got in (
        ("PORT", env.port, addresses.port),
        ("FLOWER_PORT", env.flower_port, addresses.flower_port),
        ("COPILOT_OFFLINE_MODEL_PORT", env.offline_model_port, addresses.model_port),
    ):
        if got and wanted and wanted != got:
            say(f"Port {wanted} is in use, using {got} (set {name} to choose another)")
    return addresses


def child_environment(env: Environment, addresses: BindAddresses) -> dict[str, str]:
    """Return the variables that every process of this start gets, including the supervisor itself."""
    variables = {
        "DJANGO_SETTINGS_MODULE": "copilot_project.settings",
        "COPILOT_HOME": str(env.home_path),
        "PORT": str(addresses.port),
        "FLOWER_URL": env.flower_url or f"{addresses.flower_url}/",
        "PYTHONUNBUFFERED": "1",
        "CELERY_SKIP_CHECKS": "true",  # they would load every view into every worker
    }
    if addresses.model_url:
        variables |= {
            "OPENAI_BASE_URL": f"{addresses.model_url}/v1",
            "OPENAI_API_KEY": "offline",
            "COPILOT_MODEL": env.model or "offline",
        }
    return variables


def browsable(host: str) -> str:
    """Return an address that a browser on this machine can open."""
    host = WILDCARDS.get(host, host)
    return f"[{host}]" if ":" in host else host


def listen(host: str, wanted: int) -> socket.socket:
    """Return a socket that listens on `wanted` or on the next free port; raise NoFreePort."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    for port in range(wanted, min(wanted + PORT_TRIES, MAX_PORT + 1)):
        bound = socket.socket(family, socket.SOCK_STREAM)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            bound.bind((host, port))
            bound.listen(BACKLOG)
        except OSError as error:
            bound.close()
            if error.errno == errno.EADDRINUSE or (error.errno == errno.EACCES and port < 1024):
                continue
            raise NoFreePort(
                f"Cannot listen on {host}:{port}: {error.strerror}. Set HOST to an address of this machine."
            ) from error
        return bound
    raise NoFreePort(f"No port from {wanted} on is free on {host}. Choose another one.")


def free_port(host: str, wanted: int) -> int:
    """Return a port that was free a moment ago, for programs that bind it themselves."""
    with listen(host, wanted) as bound:
        return port_of(bound)


def port_of(bound: socket.socket) -> int:
    port: int = bound.getsockname()[1]
    return port
