"""What tests need of the machine: without it they skip with one line that says how to get it; in CI they fail."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NoReturn
from urllib.parse import urlsplit

import psycopg
import pytest

from copilot_project.launcher import ui

POSTGRES_URL = os.environ.get("TEST_POSTGRES_URL", "postgres://127.0.0.1:5432")
RABBITMQ_URL = os.environ.get("TEST_RABBITMQ_URL", "amqp://guest:guest@127.0.0.1:5672")
RABBITMQ_PROGRAMS = Path("/usr/lib/rabbitmq/bin")  # wrappers in PATH become the user of the system's server
CLIENT_PACKAGES = Path(__file__).resolve().parent / "system" / "ai_sdk_clients"
OPENAI_PROGRAMS_FOLDER = Path(__file__).resolve().parent / "system" / "openai_clients"
OPENAI_PROGRAMS_ENVIRONMENT = Path(sys.prefix) / "openai-programs"
MCP_CLIENT_PACKAGES = Path(__file__).resolve().parent / "system" / "mcp_clients"
MCP_NODE_MAJOR = 22
FOREIGN_MODEL_PACKAGES = Path(__file__).resolve().parent / "llm" / "foreign_server"
MCP_PACKAGES = Path(__file__).resolve().parent / "connections" / "foreign_servers"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
PROBE_SECONDS = 20  # who is away refuses at once; who is busy takes longer
COMMAND_SECONDS = 60
INSTALL_SECONDS = 600


@dataclass(frozen=True, kw_only=True)
class Need:
    """Something that not every machine has. CI has all of it, unless it is said to be optional there."""

    name: str
    get: str
    is_met: Callable[[], bool]
    optional_in_ci: bool = False

    def __str__(self) -> str:
        return f"needs {self.name}: {self.get}"

    @property
    def skip_mark(self) -> pytest.MarkDecorator:
        """For a test whose need is known when it is collected, and that CI may lack."""
        return pytest.mark.skipif(not self.is_met(), reason=str(self))


def require(*needs: Need) -> None:
    """Go on only where all of it is there."""
    for need in needs:
        if not need.is_met():
            absent(need)


def absent(need: Need) -> NoReturn:
    if os.environ.get("CI") and not need.optional_in_ci:
        pytest.fail(str(need), pytrace=False)
    pytest.skip(str(need))


# --- probes ---------------------------------------------------------------------------------------


@cache
def postgresql_answers() -> bool:
    try:
        psycopg.connect(f"{POSTGRES_URL}/postgres", connect_timeout=PROBE_SECONDS).close()
    except psycopg.OperationalError:
        return False
    return True


@cache
def rabbitmq_obeys() -> bool:
    """Its control program makes virtual hosts, which it does for root and for RabbitMQ's own user."""
    place = urlsplit(RABBITMQ_URL)
    try:
        socket.create_connection((place.hostname, place.port or 5672), timeout=PROBE_SECONDS).close()
        command = [rabbitmq_control(), "--quiet", "list_vhosts"]
        subprocess.run(command, check=True, capture_output=True, timeout=COMMAND_SECONDS)
    except (OSError, subprocess.SubprocessError):
        return False
    return True


def rabbitmq_control() -> str:
    return shutil.which("rabbitmqctl") or "/usr/sbin/rabbitmqctl"


def postgresql_programs() -> Path | None:
    """The folder of the newest PostgreSQL server that is installed."""
    found = [path.parent for path in Path("/usr/lib/postgresql").glob("*/bin/initdb")]
    if path := shutil.which("initdb"):
        found.append(Path(path).parent)
    return max(found, default=None, key=lambda path: [int(part) for part in path.parts if part.isdigit()])


@cache
def bubblewrap_works() -> bool:
    """Some kernels forbid ordinary users the namespaces it is made of."""
    try:
        command = ["bwrap", "--ro-bind", "/", "/", "--unshare-all", "true"]
        subprocess.run(command, check=True, capture_output=True, timeout=COMMAND_SECONDS)
    except (OSError, subprocess.SubprocessError):
        return False
    return True


def browser_program() -> str | None:
    return next((found for name in BROWSERS if (found := shutil.which(name))), None)


def clamd_program() -> str | None:
    return shutil.which("clamd") or shutil.which("/usr/sbin/clamd")


def node() -> ui.NodeJs | None:
    """The machine's, or the one that building the chat UI installed."""
    return ui.machine_node() or ui.wheel_node()


def node_program() -> str:
    found = node()
    return str(found.folder / "node") if found and found.folder else "node"


@cache
def client_packages_are_installed() -> bool:
    """They come with the set-up of a whole run; for a chosen test they are fetched when it is reached."""
    return has_packages(CLIENT_PACKAGES)


@cache
def openai_programs_are_installed() -> bool:
    """They have an environment of their own, made anew when their requirements change."""
    wanted = (OPENAI_PROGRAMS_FOLDER / "requirements.txt").read_bytes()
    environment = OPENAI_PROGRAMS_ENVIRONMENT
    stamp = environment / "installed.txt"
    if stamp.exists() and stamp.read_bytes() == wanted:
        return True
    shutil.rmtree(environment, ignore_errors=True)
    try:
        for command in install_commands(environment):
            subprocess.run(command, check=True, capture_output=True, timeout=INSTALL_SECONDS)
    except (OSError, subprocess.SubprocessError):
        return False
    stamp.write_bytes(wanted)
    return True


def install_commands(environment: Path) -> list[list[str]]:
    uv = str(Path(sys.executable).parent / "uv")
    python, wanted = str(environment / "bin" / "python"), str(OPENAI_PROGRAMS_FOLDER / "requirements.txt")
    return [
        [uv, "venv", "--quiet", "--python", sys.executable, str(environment)],
        [uv, "pip", "install", "--quiet", "--python", python, "--require-hashes", "-r", wanted],
    ]


def openai_program(name: str) -> str:
    return str(OPENAI_PROGRAMS_ENVIRONMENT / "bin" / name)


@cache
def mcp_node() -> ui.NodeJs | None:
    """The machine's Node if it is new enough for the MCP packages, else that of a wheel."""
    machine = ui.machine_node()
    try:
        if machine is not None:
            said = subprocess.run(
                ["node", "--version"], capture_output=True, text=True, timeout=COMMAND_SECONDS
            )
            if int(said.stdout.removeprefix("v").partition(".")[0]) >= MCP_NODE_MAJOR:
                return machine
        return ui.wheel_node() or ui.install_wheel_node()
    except (ui.CannotBuild, OSError, ValueError, subprocess.SubprocessError):
        return None


def mcp_node_program() -> str:
    found = mcp_node()
    return str(found.folder / "node") if found and found.folder else "node"


@cache
def mcp_clients_are_installed() -> bool:
    found = mcp_node()
    if found is None:
        return False
    try:
        ui.install_packages(found, MCP_CLIENT_PACKAGES)
    except ui.CannotBuild:
        return False
    return True


@cache
def foreign_model_is_installed() -> bool:
    return has_packages(FOREIGN_MODEL_PACKAGES)


@cache
def mcp_packages_are_installed() -> bool:
    return has_packages(MCP_PACKAGES)


@cache
def interface_packages_are_installed() -> bool:
    return has_packages(ui.FRONTEND)


def has_packages(folder: Path) -> bool:
    found = node()
    if found is None:
        return False
    try:
        ui.install_packages(found, folder)
    except ui.CannotBuild:
        return False
    return True


@cache
def interface_is_built() -> bool:
    if ui.state() != "fresh":
        try:
            ui.build()
        except ui.CannotBuild:
            return False
    return True


def set_up() -> None:
    """Fetch and build what would otherwise be fetched in the middle of a run; what cannot be had is said."""
    for need in (
        INTERFACE, INTERFACE_PACKAGES, CLIENTS, OPENAI_PROGRAMS, FOREIGN_MODEL, MCP_SERVERS, MCP_CLIENTS,
    ):  # fmt: skip
        if not need.is_met():
            print(f"Tests that need {need.name} will be skipped.")


# --- needs ----------------------------------------------------------------------------------------

POSTGRESQL = Need(
    name="PostgreSQL",
    get="apt install postgresql and start it, or set TEST_POSTGRES_URL=postgres://USER:PASSWORD@HOST:5432",
    is_met=postgresql_answers,
)
RABBITMQ = Need(
    name="RabbitMQ",
    get="apt install rabbitmq-server, start it, and run the tests as a user who may call rabbitmqctl",
    is_met=rabbitmq_obeys,
)
POSTGRESQL_PROGRAMS = Need(
    name="PostgreSQL's programs",
    get="apt install postgresql; the tests start servers of their own",
    is_met=lambda: postgresql_programs() is not None,
)
RABBITMQ_SERVER = Need(
    name="RabbitMQ's server program",
    get="apt install rabbitmq-server; the tests start one of their own",
    is_met=lambda: os.access(RABBITMQ_PROGRAMS / "rabbitmq-server", os.X_OK),
)
BUBBLEWRAP = Need(
    name="bubblewrap",
    get="apt install bubblewrap, on a kernel that allows user namespaces",
    is_met=bubblewrap_works,
)
BROWSER = Need(name="Chromium", get="apt install chromium", is_met=lambda: browser_program() is not None)
NODE = Need(
    name="Node",
    get=f"install Node {ui.NODE_RANGE} or newer with npm; ./copilot up fetches one where there is none",
    is_met=lambda: node() is not None,
)
CLIENTS = Need(
    name="stock AI SDK clients",
    get="run ./copilot test once with a network: it installs them below tests/system/ai_sdk_clients",
    is_met=client_packages_are_installed,
)
OPENAI_PROGRAMS = Need(
    name="programs of others that speak the OpenAI API",
    get="run ./copilot test once with a network: it installs them below .venv/openai-programs",
    is_met=openai_programs_are_installed,
)
MCP_CLIENTS = Need(
    name="official MCP clients",
    get="run ./copilot test once with a network: it installs them below tests/system/mcp_clients",
    is_met=mcp_clients_are_installed,
)
FOREIGN_MODEL = Need(
    name="a model server of somebody else",
    get="run ./copilot test once with a network: it installs it below tests/llm/foreign_server",
    is_met=foreign_model_is_installed,
)
MCP_SERVERS = Need(
    name="MCP servers and the conformance suite of the protocol",
    get="run ./copilot test once with a network: it installs them below tests/connections/foreign_servers",
    is_met=mcp_packages_are_installed,
)
INTERFACE_PACKAGES = Need(
    name="the chat UI's packages",
    get="run ./copilot test once with a network: it installs them below frontend",
    is_met=interface_packages_are_installed,
)
INTERFACE = Need(
    name="a built chat UI",
    get="run ./copilot test once with a network: it builds frontend/dist",
    is_met=interface_is_built,
)
ROOT_USER = Need(
    name="root",
    get="run the tests as root; they become other users",
    is_met=lambda: os.geteuid() == 0,
    optional_in_ci=True,
)
NGINX = Need(
    name="nginx",
    get="apt install nginx-light",
    is_met=lambda: (shutil.which("nginx") or shutil.which("/usr/sbin/nginx")) is not None,
    optional_in_ci=True,
)
CLAMD = Need(
    name="clamd",
    get="apt install clamav-daemon; the tests start one of their own",
    is_met=lambda: clamd_program() is not None,
)
CADDY = Need(
    name="Caddy",
    get="install Caddy 2.8 or newer",
    is_met=lambda: shutil.which("caddy") is not None,
    optional_in_ci=True,
)
COMPOSE = Need(
    name="docker-compose",
    get="apt install docker-compose",
    is_met=lambda: shutil.which("docker-compose") is not None,
)


if __name__ == "__main__":
    set_up()
