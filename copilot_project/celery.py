"""The Celery application: it carries pokes, never the work itself."""

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "copilot_project.settings")

app = Celery("copilot_project")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
app.autodiscover_tasks(["durable"], related_name="worker", force=False)
