"""What `up` needs of the product itself: its database ready, its code loaded, a first user to log in with."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.db import DatabaseError, connection

from accounts.login_links import make_login_link
from accounts.models import User
from copilot_project.celery import app
from copilot_project.checks.parts import first_line, pending_migrations, worker_is_alive
from copilot_project.embedded.errors import CannotPrepare
from copilot_project.embedded.places import Places
from copilot_project.env import Environment

__all__ = ["close_database", "demo_user", "preload", "prepare_database", "welcome", "worker_is_alive"]

DEMO_USERNAME = "demo"
WORKER_MODULES = (
    "celery.bin.celery",
    "celery.bin.worker",
    "celery.bin.beat",
    "celery.apps.worker",
    "celery.beat",
)


def preload() -> None:
    """Load what every worker needs, so that none of them has to."""
    for name in WORKER_MODULES:
        import_module(name)
    app.loader.import_default_modules()


def prepare_database(say: Callable[[str], None]) -> None:
    try:
        if pending := pending_migrations():
            say(f"Preparing the database ({pending} migrations)")
            call_command("migrate", interactive=False, verbosity=0)
    except DatabaseError as error:
        raise CannotPrepare(
            f"The database does not answer: {first_line(error)}\nCheck DATABASE_URL."
        ) from error


def close_database() -> None:
    connection.close()
    if hasattr(connection, "close_pool"):
        connection.close_pool()


def welcome(env: Environment, places: Places) -> str:
    """Where everything is."""
    url = env.site_url.rstrip("/") or places.url
    user, _, password = places.flower_auth.partition(":")
    rows = [("Chat", f"{url}/")]
    if not env.production:
        link = make_login_link(demo_user(env))
        rows.append(("Log in", f"{url}{link}   (as {DEMO_USERNAME}; once, within 15 minutes)"))
    rows += [
        ("API", f"{url}/api/docs/"),
        ("Admin", f"{url}/{env.admin_path}/"),
        ("Flower", f"{places.flower_url}/   ({user} / {password})"),
        ("Model", model_line(env)),
        ("Logs", str(env.home_path / "logs")),
    ]
    return "".join(f"  {name:<8}{text}\n" for name, text in rows) + "\nCtrl-C stops everything."


def model_line(env: Environment) -> str:
    if env.offline_model:
        return "the built-in offline model (set OPENAI_API_KEY or OPENAI_BASE_URL for a real one)"
    return f"{env.model or 'default model'} at {env.openai_base_url or 'https://api.openai.com/v1'}"


def demo_user(env: Environment) -> User:
    """The user of the login link; it may use the admin only where the database is this machine's own."""
    own = not (env.production or env.database_url)
    user, made = get_user_model().objects.get_or_create(
        username=DEMO_USERNAME, defaults={"is_staff": own, "is_superuser": own}
    )
    if made:
        user.set_unusable_password()
        user.save(update_fields=["password"])
    return user
