"""The Celery application Flower watches through: the broker's settings alone, none of the product's code."""

from __future__ import annotations

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "copilot_project.settings")

app = Celery("monitor", fixups=[], set_as_current=False)
app.config_from_object("django.conf:settings", namespace="CELERY")
