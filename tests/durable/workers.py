"""Real Celery workers in processes of their own, to be killed, frozen and asked to leave."""

from __future__ import annotations

import os
import signal
import uuid
from pathlib import Path
from typing import Any

from celery import Celery
from django.conf import settings
from django.db import connection

from durable.models import WorkerBeat
from tests.durable.conftest import eventually
from tests.durable.testjobs.models import Chore
from tests.fork_server import ForkedProcess, Products

START_SECONDS = 180.0  # generous: a loaded machine is slow, not broken


def database_url() -> str:
    """The database this test runs on, as another process names it."""
    known = connection.settings_dict
    if connection.vendor == "sqlite":
        return f"sqlite://{known['NAME']}"
    host = f"{known['USER']}:{known['PASSWORD']}@{known['HOST']}:{known['PORT']}" if known["HOST"] else ""
    return f"postgres://{host}/{known['NAME']}"


class Site:
    """One broker, one Redis, and the workers at it."""

    def __init__(self, home: Path, *, redis_url: str, broker_url: str = "", **environment: str) -> None:
        self.home = home
        self.broker_url = broker_url or redis_url.replace("unix://", "redis+socket://", 1)
        self.environment = {
            "REDIS_URL": redis_url,
            "CELERY_BROKER_URL": broker_url,
            "DATABASE_URL": database_url(),
            **environment,
        }
        self.workers: list[Worker] = []
        self.products = Products(home / "fork_server.log")
        self._app: Any = None

    def start(self, *, pool: str = "threads", concurrency: int = 4, **environment: str) -> Worker:
        worker = Worker(self, pool=pool, concurrency=concurrency, environment=environment)
        self.workers.append(worker)
        worker.wait_until_ready()
        return worker

    def app(self) -> Any:
        """A client of this site's broker, with the product's own options."""
        if self._app is None:
            self._app = Celery("tests", broker=self.broker_url, set_as_current=False)
            if self.broker_url.startswith("redis"):
                self._app.conf.broker_transport_options = settings.CELERY_BROKER_TRANSPORT_OPTIONS
        return self._app

    def poke(self, chore: Chore) -> None:
        self.app().send_task(
            Chore.task_name, args=[str(chore.pk)], queue=Chore.queue, retry=False, ignore_result=True
        )

    def stop(self) -> None:
        for worker in self.workers:
            worker.kill()
        self.products.stop()
        if self._app is not None:
            self._app.close()


class Worker:
    """One worker; a process group, so that kill -9 takes the children of a pool with it."""

    def __init__(self, site: Site, *, pool: str, concurrency: int, environment: dict[str, str]) -> None:
        self.site = site
        self.name = f"w{len(site.workers)}@{uuid.uuid4().hex[:8]}"
        self.log = site.home / f"{self.name}.log"
        known = set(WorkerBeat.objects.values_list("name", flat=True))
        words = [
            *("-A", "copilot_project", "worker", "-P", pool, "-c", str(concurrency), "-Q", Chore.queue),
            *("-n", self.name, "--without-gossip", "--without-mingle", "-l", "INFO"),
        ]
        everything = os.environ | site.environment | environment
        self.process: ForkedProcess = site.products.start(
            "celery", words, environment=everything, log=self.log
        )
        self._known = known

    def wait_until_ready(self) -> None:
        eventually(self._has_beaten, seconds=START_SECONDS, what=f"{self.name} is up")

    def _has_beaten(self) -> bool:
        assert self.process.poll() is None, self.said()
        return bool(set(WorkerBeat.objects.values_list("name", flat=True)) - self._known)

    def said(self) -> str:
        return self.log.read_text(errors="replace")

    def kill(self) -> None:
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()

    def signal(self, number: int) -> None:
        os.killpg(self.process.pid, number)

    def ask_to_leave(self) -> None:
        """As an operator or a supervisor does: the main process alone."""
        self.process.terminate()
