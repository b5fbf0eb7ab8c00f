"""The composition root: it knows every package and is known by none."""

from copilot_project.celery import app as celery_app

__all__ = ["celery_app"]
