"""The addresses of one start."""

from __future__ import annotations

import socket
from collections.abc import Callable
from dataclasses import dataclass

from copilot_project import secrets
from copilot_project.embedded.ports import free_port, listen
from copilot_project.env import Environment

LOOPBACK = "127.0.0.1"
WILDCARDS = {"0.0.0.0": LOOPBACK, "::": "::1", "": LOOPBACK}  # noqa: S104


@dataclass(frozen=True, kw_only=True)
class Places:
    """Where everything listens. The web socket is held open by the supervisor: nobody else can take its port, and
    visitors wait instead of being refused while the web process is being replaced."""

    web: socket.socket
    host: str
    port: int
    flower_host: str
    flower_port: int
    flower_auth: str
    model_port: int

    @property
    def url(self) -> str:
        return f"http://{visible(self.host)}:{self.port}"

    @property
    def flower_url(self) -> str:
        return f"http://{visible(self.flower_host)}:{self.flower_port}"

    @property
    def model_url(self) -> str:
        return f"http://{LOOPBACK}:{self.model_port}" if self.model_port else ""


def find_places(env: Environment, say: Callable[[str], None]) -> Places:
    """The wanted ports, or the next free ones, and that is said."""
    flower_host = env.host if env.flower_basic_auth else LOOPBACK
    web = listen(env.host, env.port)
    places = Places(
        web=web,
        host=env.host,
        port=web.getsockname()[1],
        flower_host=flower_host,
        flower_port=free_port(flower_host, env.flower_port),
        flower_auth=env.flower_basic_auth or secrets.flower_auth(env.home_path),
        model_port=free_port(LOOPBACK, env.offline_model_port) if env.offline_model else 0,
    )
    for name, wanted, got in (
        ("PORT", env.port, places.port),
        ("FLOWER_PORT", env.flower_port, places.flower_port),
        ("COPILOT_OFFLINE_MODEL_PORT", env.offline_model_port, places.model_port),
    ):
        if got and wanted and wanted != got:
            say(f"Port {wanted} is taken, using {got} (set {name} to choose another)")
    return places


def told_environment(env: Environment, places: Places) -> dict[str, str]:
    """What every process of this start is told, the supervisor's own included."""
    told = {
        "DJANGO_SETTINGS_MODULE": "copilot_project.settings",
        "COPILOT_HOME": str(env.home_path),
        "PORT": str(places.port),
        "FLOWER_URL": env.flower_url or f"{places.flower_url}/",
        "PYTHONUNBUFFERED": "1",
        "CELERY_SKIP_CHECKS": "true",  # they would load every view into every worker
    }
    if places.model_url:
        told |= {
            "OPENAI_BASE_URL": f"{places.model_url}/v1",
            "OPENAI_API_KEY": "offline",
            "COPILOT_MODEL": env.model or "offline",
        }
    return told


def visible(host: str) -> str:
    """An address a browser on this machine can open."""
    host = WILDCARDS.get(host, host)
    return f"[{host}]" if ":" in host else host
