"""The scheduler of beat: django-celery-beat's, which also reports that it is alive at every tick."""

from __future__ import annotations

from typing import Any

from django_celery_beat.schedulers import DatabaseScheduler

from durable.liveness import LivenessSignal


class Scheduler(DatabaseScheduler):  # type: ignore[misc]
    life = LivenessSignal("beat")

    def tick(self, *args: Any, **kwargs: Any) -> Any:
        self.life.give()
        return super().tick(*args, **kwargs)
