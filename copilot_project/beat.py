"""Beat's scheduler: the one that keeps its rows in the database, with a sign of life at every tick."""

from __future__ import annotations

from typing import Any

from django_celery_beat.schedulers import DatabaseScheduler

from durable.alive import SignOfLife


class Scheduler(DatabaseScheduler):  # type: ignore[misc]
    life = SignOfLife("beat")

    def tick(self, *args: Any, **kwargs: Any) -> Any:
        self.life.give()
        return super().tick(*args, **kwargs)
