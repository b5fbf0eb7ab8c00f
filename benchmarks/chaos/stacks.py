"""The stacks under test: the embedded one on one machine, or the servers and roles of a deployment."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

import django
import psycopg

from benchmarks.chaos.proxy import Gateway
from benchmarks.environment import LIFTED, environment, leave_in_order
from tests.harness import Client, Stack, prepare
from tests.postgres_server import PostgresServer
from tests.rabbitmq import OwnRabbit
from tests.system.deployment.proxy import round_robin

DATABASE = "ratchet"
CONSUMER_TIMEOUT_SECONDS = 60
INTERNAL_KEY = "the key of the outside services"
MORE = {"COPILOT_TEST_APPS": "tests.testblocks", "INTERNAL_API_KEY": INTERNAL_KEY}
DISK = "1500M"  # of PostgreSQL, so that it can be filled


@dataclass
class ChaosStack(Stack):
    """A stack whose database and broker can be taken away for a while."""

    workers: ClassVar[int] = 2
    webs: ClassVar[int] = 1

    def start_all(self) -> None:
        """Start the model, web processes and workers; the servers are running."""
        self.start_model()
        for number in range(self.webs):
            self.start_web(number)
        for number in range(self.workers):
            self.start_worker(number)
        self.wait_ready(self.workers)

    @contextmanager
    def database_locked(self) -> Iterator[None]:
        """Lock the database against writes from another program."""
        other = sqlite3.connect(self.home / "copilot.sqlite3", isolation_level=None, timeout=20)
        other.execute("BEGIN EXCLUSIVE")
        try:
            yield
        finally:
            other.execute("ROLLBACK")
            other.close()

    @contextmanager
    def broker_away(self) -> Iterator[None]:
        self.kill("redis")
        try:
            yield
        finally:
            self.start_redis()


@dataclass
class ProductionStack(ChaosStack):
    """Its own PostgreSQL, RabbitMQ and Redis, two web processes behind a proxy, and three workers."""

    workers: ClassVar[int] = 3
    webs: ClassVar[int] = 2
    around: ExitStack = field(default_factory=ExitStack)

    def start_servers(self) -> None:
        self.home.mkdir(parents=True, exist_ok=True)
        self.mount_disk(self.home / "postgres")
        self.postgres = PostgresServer(self.home / "postgres").create().start()
        self.around.callback(self.stop_database)
        self.postgres.execute(f"CREATE DATABASE {DATABASE}")
        self.database_url = self.postgres.url.rpartition("/")[0] + f"/{DATABASE}"
        self.rabbit = OwnRabbit(self.home / "rabbit", consumer_timeout_seconds=CONSUMER_TIMEOUT_SECONDS)
        self.around.callback(self.rabbit.stop)
        self.rabbit.start()
        self.broker = Gateway(self.rabbit.port)
        self.around.callback(self.broker.close)
        self.broker_url = f"amqp://guest:guest@127.0.0.1:{self.broker.port}//"
        self.start_redis()
        self.keys = prepare(self.home, self.database_url, f"unix://{self.socket}")

    def mount_disk(self, folder: Path) -> None:
        """Create a small file system for PostgreSQL, where that is permitted."""
        folder.mkdir(parents=True, exist_ok=True)
        if os.getuid() != 0:
            return
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK}", "tmpfs", str(folder)], check=True)
        self.around.callback(lambda: subprocess.run(["umount", "-l", str(folder)], check=False))

    def start_all(self) -> None:
        self.proxy = self.around.enter_context(round_robin(()))
        self.proxy.serve([self.web_port(number) for number in range(self.webs)])
        super().start_all()

    def url(self, web: int = 0) -> str:
        """Return the URL of the proxy, for any web process."""
        return self.proxy.url

    def client(self, person: str = "ann", web: int = 0) -> Client:
        return Client(self.url(), self.keys[person])

    @contextmanager
    def database_locked(self) -> Iterator[None]:
        """Lock the turns against reads and writes from another program."""
        with psycopg.connect(self.database_url) as other:
            other.execute("LOCK TABLE chat_turn, chat_session IN ACCESS EXCLUSIVE MODE")
            yield
            other.rollback()

    @contextmanager
    def broker_away(self) -> Iterator[None]:
        """Stop the broker and Redis, which are one server on the embedded stack."""
        self.broker.refuse()
        self.kill("redis")
        try:
            yield
        finally:
            self.start_redis()
            self.broker.recover()

    def fail_over(self) -> None:
        """Kill the primary for good; its standby takes over its address."""
        standby = self.postgres.standby(self.home / f"postgres-{time.time_ns()}")
        self.postgres.stop()
        standby.promote()
        standby.stop()
        standby.port = self.postgres.port
        self.postgres = standby.start()

    def stop_database(self) -> None:
        self.postgres.stop()

    def stop(self) -> None:
        super().stop()
        self.around.close()


@contextmanager
def chaos_environment(kind: str, *, lease_seconds: float) -> Iterator[ChaosStack]:
    """Run the servers of a stack of this kind during the block, and set Django up for it."""
    if kind == "small":
        with environment(env=MORE, lease_seconds=lease_seconds, kind=ChaosStack) as small:
            assert isinstance(small, ChaosStack)
            yield small
        return
    leave_in_order()
    home = Path(tempfile.mkdtemp(prefix="rb-"))
    stack = ProductionStack(home, env={**LIFTED, **MORE}, lease_seconds=lease_seconds)
    try:
        stack.start_servers()
        os.environ.update(stack.environment())
        django.setup()
        yield stack
    finally:
        stack.stop()
        shutil.rmtree(home, ignore_errors=True)
