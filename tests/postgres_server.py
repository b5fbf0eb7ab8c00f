"""PostgreSQL servers of a run's own: unlike the machine's, they may be killed, starved and replaced."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import psycopg

from tests.harness import DIE_WITH_PARENT, eventually, free_port
from tests.needs import postgresql_programs
from tests.services import ServerMissing

OWN_SERVER = "TEST_OWN_POSTGRES"  # set where the run has a server that goes with it
START_SECONDS = 180.0
COMMAND_SECONDS = 60.0


def postgres_programs() -> Path:
    """The folder of the newest PostgreSQL server that is installed."""
    found = postgresql_programs()
    if found is None:
        raise ServerMissing("PostgreSQL is not installed. On Debian: apt install postgresql.")
    return found


@contextmanager
def server_of_this_run(folder: Path) -> Iterator[None]:
    """Tests use a server below `folder` instead of the machine's, whose connections others may be using up.

    Where somebody named a server, or none can be started, everything stays as it is.
    """
    if os.environ.get("TEST_POSTGRES_URL") or postgresql_programs() is None:
        yield
        return
    server = PostgresServer(folder)
    try:
        server.create().start()
    except (AssertionError, LookupError, OSError, RuntimeError, subprocess.SubprocessError) as error:
        sys.stdout.write(f"No PostgreSQL of this run's own: {error}\n")
        yield
        return
    os.environ |= {"TEST_POSTGRES_URL": server.url.rpartition("/")[0], OWN_SERVER: "1"}
    try:
        yield
    finally:
        for name in ("TEST_POSTGRES_URL", OWN_SERVER):
            del os.environ[name]
        server.stop()


@dataclass
class PostgresServer:
    """One PostgreSQL server with its data below `folder`; not run as root, which it refuses."""

    folder: Path
    port: int = field(default_factory=free_port)
    process: subprocess.Popen[bytes] | None = None

    def __post_init__(self) -> None:
        self.programs = postgres_programs()
        self.data = self.folder / "data"

    @property
    def url(self) -> str:
        return url_at(self.port)

    def create(self) -> PostgresServer:
        self.folder.mkdir(parents=True, exist_ok=True)
        if os.getuid() == 0:
            account = pwd.getpwnam("postgres")
            os.chown(self.folder, account.pw_uid, account.pw_gid)
            for parent in self.folder.parents[:-2]:
                parent.chmod(
                    parent.stat().st_mode | 0o055
                )  # below a temporary folder that only root may enter
        self.run("initdb", "-A", "trust", "-U", "postgres", "-N", "-D", str(self.data))
        return self

    def standby(self, folder: Path) -> PostgresServer:
        """Start a second server that follows this one; a commit waits for it, so that none is lost with the first."""
        folder.mkdir(parents=True, exist_ok=True)
        if os.getuid() == 0:
            shutil.chown(folder, "postgres", "postgres")
        copy = PostgresServer(folder)
        self.run("pg_basebackup", "-d", self.url, "-D", str(copy.data), "-R", "-X", "stream", "-c", "fast")
        copy.start()
        self.execute("ALTER SYSTEM SET synchronous_standby_names = '*'")
        self.execute("ALTER SYSTEM SET synchronous_commit = 'remote_apply'")
        self.execute("SELECT pg_reload_conf()")
        eventually(
            lambda: self.execute("SELECT sync_state FROM pg_stat_replication") == [("sync",)],
            seconds=START_SECONDS,
            what="the synchronous standby",
        )
        return copy

    def promote(self) -> None:
        self.execute("ALTER SYSTEM RESET ALL")  # it inherited that commits wait for a standby
        self.run("pg_ctl", "promote", "-w", "-D", str(self.data))
        eventually(
            lambda: self.execute("SELECT pg_is_in_recovery()") == [(False,)],
            seconds=START_SECONDS,
            what="the promotion",
        )

    def start(self) -> PostgresServer:
        settings = {"listen_addresses": "127.0.0.1", "unix_socket_directories": "", "fsync": "off",
                    "max_connections": "400"}  # fmt: skip
        words = [f"-c{name}={value}" for name, value in settings.items()]
        with (self.folder / "server.log").open("ab") as out:
            self.process = subprocess.Popen(
                self.as_owner("postgres", "-D", str(self.data), "-p", str(self.port), *words),
                cwd="/",
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        eventually(self.answers, seconds=START_SECONDS, what="PostgreSQL")
        return self

    def stop(self, how: signal.Signals = signal.SIGQUIT) -> None:
        """SIGQUIT is PostgreSQL's own immediate shutdown: every connection is cut, nothing is written."""
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(how)
            self.process.wait(COMMAND_SECONDS)

    def answers(self) -> bool:
        if self.process is not None and self.process.poll() is not None:
            raise AssertionError(f"PostgreSQL ended:\n{(self.folder / 'server.log').read_text()[-2_000:]}")
        try:
            return self.execute("SELECT 1") == [(1,)]
        except psycopg.OperationalError:
            return False

    def execute(self, statement: str, *, database: str = "postgres") -> list[tuple[object, ...]]:
        with psycopg.connect(url_at(self.port, database), autocommit=True, connect_timeout=5) as connection:
            found = connection.execute(statement.encode())
            return found.fetchall() if found.description else []

    def run(self, program: str, *words: str) -> None:
        done = subprocess.run(
            self.as_owner(program, *words), cwd="/", capture_output=True, text=True, timeout=COMMAND_SECONDS
        )
        if done.returncode:
            raise RuntimeError(f"{program} failed:\n{done.stdout}\n{done.stderr}")

    def as_owner(self, program: str, *words: str) -> list[str]:
        """Run by the user postgres where we are root; the kernel ends it with this process."""
        command = [str(self.programs / program), *words]
        if os.getuid() != 0:
            return [sys.executable, str(DIE_WITH_PARENT), str(os.getpid()), *command]
        return [
            "setpriv",
            "--reuid=postgres",
            "--regid=postgres",
            "--init-groups",
            "--pdeathsig=KILL",
            *command,
        ]


def url_at(port: int, database: str = "postgres") -> str:
    return f"postgres://postgres@127.0.0.1:{port}/{database}"
