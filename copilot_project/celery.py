"""The Celery application: it carries pokes, never the work itself."""

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "copilot_project.settings")
# Celery ignores the result of Django's checks, which load every view: a third of the start time of a worker.
os.environ.setdefault("CELERY_SKIP_CHECKS", "1")

app = Celery("copilot_project", amqp="copilot_project.broker:Pokes")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
app.autodiscover_tasks(["durable"], related_name="worker_signals", force=False)
app.steps["consumer"].add("durable.backpressure:Backpressure")
