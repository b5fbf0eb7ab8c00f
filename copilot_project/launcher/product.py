"""What `up` needs of the product: a prepared database, loaded code and a first user."""

from __future__ import annotations

import pkgutil
from collections.abc import Callable
from importlib import import_module

from django.apps import AppConfig, apps
from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.db import DatabaseError, connection
from django.db.migrations.loader import MIGRATIONS_MODULE_NAME
from django.db.migrations.recorder import MigrationRecorder
from django.utils.module_loading import module_has_submodule

from accounts.models import User
from accounts.tokens import make_login_link
from copilot_project.celery import app
from copilot_project.env import Environment
from copilot_project.launcher.bind_addresses import BindAddresses
from copilot_project.launcher.errors import CannotPrepare
from copilot_project.ops.checks.parts import first_line, pending_migrations, worker_is_alive
from llm.endpoints import endpoints
from llm.errors import BadModelRequest

__all__ = ["close_database", "demo_user", "preload", "prepare_database", "welcome", "worker_is_alive"]

DEMO_USERNAME = "demo"
WORKER_MODULES = (
    "celery.apps.worker",
    "celery.concurrency.thread",
    "celery.worker.consumer",
    "copilot_project.beat",
    "copilot_project.worker",
)


def preload() -> None:
    """Load what every worker needs before they are forked."""
    for name in WORKER_MODULES:
        import_module(name)
    app.loader.import_default_modules()


def prepare_database(say: Callable[[str], None]) -> None:
    try:
        if not is_migrated() and (pending := pending_migrations()):
            say(f"Preparing the database ({pending} migrations)")
            call_command("migrate", interactive=False, verbosity=0)
    except DatabaseError as error:
        raise CannotPrepare(
            f"The database does not answer: {first_line(error)}\nCheck DATABASE_URL."
        ) from error


def is_migrated() -> bool:
    """Return whether every migration is recorded as applied, by their names alone: loading them takes much longer."""
    applied = set(MigrationRecorder(connection).applied_migrations())
    return all(
        (config.label, name) in applied for config in apps.get_app_configs() for name in names_of(config)
    )


def names_of(config: AppConfig) -> list[str]:
    """Return the names of an app's migrations, squashed ones and those they replace alike."""
    if config.module is None or not module_has_submodule(config.module, MIGRATIONS_MODULE_NAME):
        return []
    package = import_module(f"{config.name}.{MIGRATIONS_MODULE_NAME}")
    return [found.name for found in pkgutil.iter_modules(package.__path__) if found.name[0] not in "_~"]


def close_database() -> None:
    connection.close()
    if hasattr(connection, "close_pool"):
        connection.close_pool()


def welcome(env: Environment, addresses: BindAddresses) -> str:
    """Return the list of addresses that `up` prints."""
    url = env.site_url.rstrip("/") or addresses.url
    user, _, password = addresses.flower_auth.partition(":")
    rows = [("Chat", f"{url}/")]
    if not env.production:
        link = make_login_link(demo_user(env))
        rows.append(("Log in", f"{url}{link}   (as {DEMO_USERNAME}; works once, for 15 minutes)"))
    rows += [
        ("API", f"{url}/api/docs/"),
        ("Admin", f"{url}/{env.admin_path}/"),
        ("Flower", f"{addresses.flower_url}/   ({user} / {password})"),
        ("Model", model_line(env)),
        ("Logs", str(env.home_path / "logs")),
    ]
    return "".join(f"  {name:<8}{text}\n" for name, text in rows) + "\nCtrl-C stops everything."


def model_line(env: Environment) -> str:
    if env.offline_model:
        return "the built-in offline model (set OPENAI_API_KEY or OPENAI_BASE_URL for a real one)"
    try:
        places = ", ".join(endpoint.shown_url for endpoint in endpoints())
    except BadModelRequest as error:
        return error.user_message
    return f"{env.model or 'default model'} at {places}"


def demo_user(env: Environment) -> User:
    """Return the user of the login link; they are an administrator only if the database is embedded."""
    own = not (env.production or env.database_url)
    user, created = get_user_model().objects.get_or_create(
        username=DEMO_USERNAME, defaults={"is_staff": own, "is_superuser": own}
    )
    if created:
        user.set_unusable_password()
        user.save(update_fields=["password"])
    return user
