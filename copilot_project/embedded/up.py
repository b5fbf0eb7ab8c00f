"""`./copilot up`: start everything, wait until it is ready, say where it is, stay with it."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from types import ModuleType

import django

from copilot_project.embedded import places, services, ui
from copilot_project.embedded.errors import CannotPrepare
from copilot_project.embedded.instance import AlreadyRunning, Instance, Occupancy
from copilot_project.embedded.places import Places
from copilot_project.embedded.ports import NoFreePort
from copilot_project.embedded.redis import NoRedisServer, UnsafeSocketFolder
from copilot_project.embedded.supervisor import NotReady, StopRequested, Supervisor
from copilot_project.env import ROOT, BadEnvironment, Environment
from durable import limits

SHOWN_LOG_LINES = 15
INTERRUPTED = 130
Say = Callable[[str], None]


def main() -> int:
    """The exit code: 0 after a stop that was asked for, 1 when something did not start, 130 when interrupted."""
    try:
        run(Environment.read(os.environ), say)
    except StopRequested:
        say("Stopped while starting. Nothing is left running.")
        return INTERRUPTED
    except NotReady as error:
        return fail(explain(error))
    except (
        BadEnvironment,
        AlreadyRunning,
        NoFreePort,
        NoRedisServer,
        UnsafeSocketFolder,
        CannotPrepare,
    ) as error:
        return fail(str(error))
    except OSError as error:
        return fail(f"{error}\nCan the folder of COPILOT_HOME be written, and is there space on the disk?")
    return 0


def run(env: Environment, say: Say) -> None:
    """Run the whole system in the foreground until a stop signal comes."""
    started_at = time.monotonic()
    occupancy = Occupancy(env.home_path)
    try:
        found = places.find_places(env, say)
        os.environ.update(places.told_environment(env, found))
        (env.home_path / "static").mkdir(exist_ok=True)  # WhiteNoise warns about a folder that is not there
        logs = env.home_path / "logs"
        with Supervisor(
            folder=ROOT,
            logs=logs,
            say=say,
            before_start=forget_database,
            frozen_seconds=env.frozen_seconds,
        ) as supervisor:
            product = start_everything(supervisor, env, found, say)
            occupancy.announce(describe(found))
            say(f"Ready in {time.monotonic() - started_at:.1f} s.\n\n{product.welcome(env, found)}")
            forget_database()
            supervisor.run()
            say("\nStopping: web, then workers (they hand their work over), then Redis.")
        say("Stopped. Nothing is left running.")
    finally:
        occupancy.leave()


def start_everything(supervisor: Supervisor, env: Environment, found: Places, say: Say) -> ModuleType:
    """First what needs nothing of the product, then, once that is loaded and the database ready, the rest."""
    if env.embedded_redis:
        supervisor.start(services.redis_service(env))
    supervisor.start(services.flower_service(found))
    if env.offline_model:
        supervisor.start(services.model_service(found))
    interface = build_interface(supervisor, say)
    product = load_product()
    product.prepare_database(say)
    alive = product.worker_is_alive
    turns, operations, executions = (
        env.worker_concurrency,
        env.operations_concurrency,
        env.executions_concurrency,
    )
    supervisor.start(services.worker_service(env, "turns", "turns", turns, alive))
    queues = ",".join(services.OPERATION_QUEUES)
    supervisor.start(services.worker_service(env, "operations", queues, operations, alive))
    supervisor.start(services.worker_service(env, "executions", "executions", executions, alive))
    supervisor.start(services.beat_service(env))
    supervisor.start(services.completions_service())
    interface()  # the web process looks at the built files when it starts
    supervisor.start(services.web_service(env, found))
    supervisor.wait_until_ready(seconds=limits.UP_READY_SECONDS)
    return product


def load_product() -> ModuleType:
    """Load Django and everything the workers need, once for all of them: they are copies of this process.

    Imported here and not above, because settings are read at import and must see where this start listens.
    """
    django.setup()
    from copilot_project.embedded import product

    product.preload()
    return product


def forget_database() -> None:
    """A connection, or a pool and its threads, must not be shared with a copy."""
    if "copilot_project.embedded.product" in sys.modules:
        sys.modules["copilot_project.embedded.product"].close_database()


def build_interface(supervisor: Supervisor, say: Say) -> Callable[[], None]:
    """Start building the chat UI if that is needed; returns how to wait for it. Never stops the rest."""
    if ui.state() not in ("missing", "stale"):
        return lambda: None
    say("Building the chat UI (the first time takes about a minute)")
    child = supervisor.start(services.ui_service())

    def wait() -> None:
        if not supervisor.wait(lambda: child.is_ready, seconds=limits.UI_BUILD_SECONDS):
            child.kill()
        if child.exit_code != 0:
            say(
                f"The chat UI was not built: see {child.log.path}. API, terminal chat, admin and Flower work "
                "without it; ./copilot build_ui tries again."
            )

    return wait


def describe(found: Places) -> Instance:
    return Instance(pid=os.getpid(), url=found.url, flower_url=found.flower_url, model_url=found.model_url)


def explain(error: NotReady) -> str:
    log = error.child.log
    lines = "\n".join(f"  | {line}" for line in log.last_lines(SHOWN_LOG_LINES))
    hint = error.child.service.hint or "`./copilot doctor` checks every part."
    return f"{error}\nThe last lines of {log.path}:\n{lines}\n{hint}"


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def fail(text: str) -> int:
    sys.stderr.write(f"{text}\n")
    return 1


if __name__ == "__main__":
    sys.exit(main())
