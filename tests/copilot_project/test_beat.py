"""What beat is asked to have done, and that there is somebody to do it."""

from __future__ import annotations

from datetime import timedelta

import pytest
from celery import current_app
from django.conf import settings
from django.utils import timezone
from django_celery_beat.models import PeriodicTask
from django_celery_beat.schedulers import DatabaseScheduler

from copilot_project.launcher import services
from workspace import limits
from workspace.models import LooseBlob
from workspace.tasks import purge_deleted


def test_every_entry_names_a_task_and_a_queue_that_a_worker_serves() -> None:
    current_app.loader.import_default_modules()
    for name, entry in settings.CELERY_BEAT_SCHEDULE.items():
        assert entry["task"] in current_app.tasks, name
        assert entry["options"]["queue"] in {"turns", "executions", *services.OPERATION_QUEUES}, name


@pytest.mark.django_db(transaction=True)
def test_beat_writes_its_entries_where_an_operator_can_change_them() -> None:
    DatabaseScheduler(app=current_app)
    known = dict(PeriodicTask.objects.values_list("task", "enabled"))
    assert {entry["task"] for entry in settings.CELERY_BEAT_SCHEDULE.values()} <= set(known)
    assert known["workspace.purge_deleted"]


@pytest.mark.django_db
def test_the_broom_of_the_workspace_sweeps_what_is_old_enough() -> None:
    for name in ("old", "fresh"):
        LooseBlob.objects.create(blob=f"workspace/ab/{name}")
    a_day_ago = timezone.now() - timedelta(seconds=limits.LOOSE_BLOB_SECONDS)
    LooseBlob.objects.filter(blob="workspace/ab/old").update(created_at=a_day_ago)
    purge_deleted.run()
    assert LooseBlob.objects.get().blob == "workspace/ab/fresh"
