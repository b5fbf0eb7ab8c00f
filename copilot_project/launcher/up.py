"""`./copilot up`: start everything, print the addresses, and supervise until stopped."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from types import ModuleType

import django

from copilot_project import limits
from copilot_project.env import ROOT, BadEnvironment, Environment
from copilot_project.launcher import bind_addresses, services, ui
from copilot_project.launcher.bind_addresses import BindAddresses
from copilot_project.launcher.errors import CannotStart
from copilot_project.launcher.instance import HomeLock, Instance
from copilot_project.launcher.supervisor import NotReady, StopRequested, Supervisor

SHOWN_LOG_LINES = 15
INTERRUPTED = 130
Say = Callable[[str], None]


def main() -> int:
    """Return the exit code: 0 after a requested stop, 1 if something did not start, 130 if interrupted."""
    try:
        run(Environment.read(os.environ), say)
    except StopRequested:
        say("Stopped while starting. Nothing is left running.")
        return INTERRUPTED
    except NotReady as error:
        return fail(explain(error))
    except (BadEnvironment, CannotStart) as error:
        return fail(str(error))
    except OSError as error:
        return fail(f"{error}\nCheck that the folder COPILOT_HOME is writable and the disk is not full.")
    return 0


def run(env: Environment, say: Say) -> None:
    """Run the whole system in the foreground until a stop signal comes."""
    started_at = time.monotonic()
    lock = HomeLock(env.home_path)
    try:
        addresses = bind_addresses.find_addresses(env, say)
        os.environ.update(bind_addresses.child_environment(env, addresses))
        (env.home_path / "static").mkdir(exist_ok=True)  # WhiteNoise warns about a missing folder
        logs = env.home_path / "logs"
        with Supervisor(
            folder=ROOT,
            logs=logs,
            say=say,
            before_start=close_database,
            frozen_seconds=env.frozen_seconds,
        ) as supervisor:
            product = start_everything(supervisor, env, addresses, say)
            lock.announce(describe(addresses))
            say(f"Ready in {time.monotonic() - started_at:.1f} s.\n\n{product.welcome(env, addresses)}")
            close_database()
            supervisor.run()
            say("\nStopping the web server, then the workers (which hand over their work), then Redis.")
        say("Stopped. Nothing is left running.")
    finally:
        lock.release()


def start_everything(
    supervisor: Supervisor, env: Environment, addresses: BindAddresses, say: Say
) -> ModuleType:
    """Start the separate programs, then load the product and prepare the database, then start the rest."""
    if env.embedded_redis:
        supervisor.start(services.redis_service(env))
    supervisor.start(services.flower_service(addresses))
    wait_for_ui = build_ui(supervisor, say)
    product = load_product()
    product.prepare_database(say)
    if addresses.model is not None:
        supervisor.start(services.model_service(addresses.model))
    wait_for_ui()  # the web process reads the built files when it starts
    supervisor.start(services.web_service(env, addresses))  # first, as it takes longest and needs least
    product.preload()
    supervisor.start(services.turns_service(env, product.worker_is_alive))
    supervisor.start(services.background_service(env, product.worker_is_alive))
    supervisor.wait_until_ready(seconds=limits.UP_READY_SECONDS)
    return product


def load_product() -> ModuleType:
    """Load Django and the product once for all processes, since they are forks of this one.

    Imported here, because settings are read at import and need the addresses of this start.
    """
    django.setup()
    from copilot_project.launcher import product

    return product


def close_database() -> None:
    """Close the database connection or pool, which must not be shared with a fork."""
    if "copilot_project.launcher.product" in sys.modules:
        sys.modules["copilot_project.launcher.product"].close_database()


def build_ui(supervisor: Supervisor, say: Say) -> Callable[[], None]:
    """Start building the chat UI if needed; return a function that waits for it. A failure stops nothing else."""
    if ui.state() not in ("missing", "stale"):
        return lambda: None
    say("Building the chat UI (the first time takes about a minute)")
    child = supervisor.start(services.ui_service())

    def wait() -> None:
        if not supervisor.wait(lambda: child.is_ready, seconds=limits.UI_BUILD_SECONDS):
            child.kill()
        if child.exit_code != 0:
            say(
                f"The chat UI could not be built: see {child.log.path}. The API, terminal chat, admin and Flower work "
                "without it. Run ./copilot build_ui to try again."
            )

    return wait


def describe(addresses: BindAddresses) -> Instance:
    return Instance(
        pid=os.getpid(), url=addresses.url, flower_url=addresses.flower_url, model_url=addresses.model_url
    )


def explain(error: NotReady) -> str:
    log = error.child.log
    lines = "\n".join(f"  | {line}" for line in log.last_lines(SHOWN_LOG_LINES))
    hint = error.child.service.hint or "Run ./copilot doctor to check every part."
    return f"{error}\nThe last lines of {log.path}:\n{lines}\n{hint}"


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def fail(text: str) -> int:
    sys.stderr.write(f"{text}\n")
    return 1


if __name__ == "__main__":
    sys.exit(main())
