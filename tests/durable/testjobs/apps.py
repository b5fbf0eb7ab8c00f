"""Django's handle on the package."""

import os

from django.apps import AppConfig

from durable import limits


class TestJobsConfig(AppConfig):
    name = "tests.durable.testjobs"
    label = "testjobs"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Register the chores; a worker under test may be told other limits: TESTJOBS_LIMITS=NAME=1.5,OTHER=2."""
        from durable.lifecycle import register as register_lifecycle
        from tests.durable.testjobs.lifecycle import ChoreLifecycle  # models are not loaded before this point
        from tests.durable.testjobs.models import Chore

        register_lifecycle(Chore, ChoreLifecycle())
        for pair in os.environ.get("TESTJOBS_LIMITS", "").split(","):
            name, _, value = pair.partition("=")
            if name:
                setattr(limits, name, float(value))
