"""The Celery application of Flower: the broker settings without the code of the product."""

from __future__ import annotations

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "copilot_project.settings")

app = Celery("monitor", fixups=[], set_as_current=False)
app.config_from_object("django.conf:settings", namespace="CELERY")
