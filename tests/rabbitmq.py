"""A RabbitMQ server of one test, with settings of its own and alarms that trouble nobody else."""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kombu import Connection

from tests.harness import DIE_WITH_PARENT, free_port
from tests.needs import RABBITMQ_PROGRAMS as PROGRAMS
from tests.needs import RABBITMQ_SERVER, require
from tests.services import ServerMissing

START_SECONDS = 120.0
CONTROL_SECONDS = 60.0
CONSUMER_TIMEOUT_SECONDS = 1.0
MEMORY_LIMIT = {True: "1", False: "4GB"}  # memory it may use before it takes no more messages


class OwnRabbit:
    """A node under a name, on ports and in a directory of its own."""

    def __init__(
        self, directory: Path, *, consumer_timeout_seconds: float = CONSUMER_TIMEOUT_SECONDS
    ) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self.directory = directory
        self.process: subprocess.Popen[bytes] | None = None
        self.port, self.distribution_port, self.management_port = free_port(), free_port(), free_port()
        self.url = f"amqp://guest:guest@127.0.0.1:{self.port}//"
        (directory / "rabbitmq.conf").write_text(
            f"listeners.tcp.1 = 127.0.0.1:{self.port}\n"
            f"management.tcp.port = {self.management_port}\nmanagement.tcp.ip = 127.0.0.1\n"
        )
        (directory / "advanced.config").write_text(
            f"[{{rabbit, [{{consumer_timeout, {int(consumer_timeout_seconds * 1000)}}},"
            " {channel_tick_interval, 500}]}].\n"
        )
        (directory / "enabled_plugins").write_text("[rabbitmq_management].\n")
        (directory / "environment.conf").write_text("")
        (directory / ".erlang.cookie").write_text(secrets.token_hex(16))
        (directory / ".erlang.cookie").chmod(0o400)

    @property
    def environment(self) -> dict[str, str]:
        return os.environ | {
            "HOME": str(self.directory),
            "RABBITMQ_CONF_ENV_FILE": str(self.directory / "environment.conf"),
            "RABBITMQ_NODENAME": f"ratchet-{self.port}@localhost",
            "RABBITMQ_NODE_PORT": str(self.port),
            "RABBITMQ_DIST_PORT": str(self.distribution_port),
            "RABBITMQ_MNESIA_BASE": str(self.directory / "mnesia"),
            "RABBITMQ_LOG_BASE": str(self.directory / "log"),
            "RABBITMQ_CONFIG_FILE": str(self.directory / "rabbitmq.conf"),
            "RABBITMQ_ADVANCED_CONFIG_FILE": str(self.directory / "advanced.config"),
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(self.directory / "enabled_plugins"),
            "RABBITMQ_PID_FILE": str(self.directory / "pid"),
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "+S 1:1 -kernel inet_dist_use_interface {127,0,0,1}",
            "ERL_EPMD_ADDRESS": "127.0.0.1",
        }

    def start(self) -> OwnRabbit:
        if not RABBITMQ_SERVER.is_met():
            raise ServerMissing("RabbitMQ is not installed. On Debian: apt install rabbitmq-server.")
        with (self.directory / "output").open("ab") as out:
            self.process = subprocess.Popen(
                [sys.executable, str(DIE_WITH_PARENT), str(os.getpid()), str(PROGRAMS / "rabbitmq-server")],
                env=self.environment,
                cwd=self.directory,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        deadline = time.monotonic() + START_SECONDS
        while not self.answers():
            assert self.process.poll() is None, (self.directory / "output").read_text(errors="replace")
            assert time.monotonic() < deadline, "RabbitMQ did not start."
            time.sleep(0.1)
        return self

    def answers(self) -> bool:
        try:
            with Connection(self.url, connect_timeout=2) as connection:
                connection.connect()
        except OSError:
            return False
        return True

    def control(self, *words: str) -> str:
        command = [str(PROGRAMS / "rabbitmqctl"), "--quiet", *words]
        done = subprocess.run(
            command, env=self.environment, check=True, capture_output=True, timeout=CONTROL_SECONDS
        )
        return done.stdout.decode()

    def alarm(self, on: bool) -> None:
        """Raise the memory alarm or take it back: while it lasts the server reads nothing from publishers."""
        self.control("set_vm_memory_high_watermark", "absolute", MEMORY_LIMIT[on])

    def queues(self) -> set[str]:
        return set(self.control("list_queues", "--no-table-headers", "name").split())

    def signal(self, number: int) -> None:
        assert self.process is not None
        os.killpg(self.process.pid, number)

    def stop(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.signal(signal.SIGKILL)
            self.process.wait()


@contextmanager
def own_rabbitmq() -> Iterator[OwnRabbit]:
    require(RABBITMQ_SERVER)
    directory = Path(tempfile.mkdtemp(prefix="ratchet-rabbitmq-"))
    server = OwnRabbit(directory)
    try:
        yield server.start()
    finally:
        server.stop()
        shutil.rmtree(directory, ignore_errors=True)
