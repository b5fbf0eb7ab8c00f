"""What `up` asks of the product before it starts the processes."""

from __future__ import annotations

import pytest
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder

from copilot_project.launcher import product
from copilot_project.ops.checks.parts import pending_migrations


@pytest.mark.django_db
def test_a_database_with_all_migrations_is_known_by_their_names() -> None:
    assert product.is_migrated()
    assert pending_migrations() == 0


@pytest.mark.django_db
@pytest.mark.parametrize("app", ["chat", "auth"])
def test_one_that_is_missing_is_missed(app: str) -> None:
    recorder = MigrationRecorder(connection)
    newest = max(name for label, name in recorder.applied_migrations() if label == app)
    recorder.record_unapplied(app, newest)
    assert not product.is_migrated()
    assert pending_migrations() == 1
