"""The addresses of the tools' API, under /api/."""

from django.urls import path

from tools.api import completions

urlpatterns = [
    path(
        "operations/<uuid:operation_id>/complete",
        completions.CompleteOperation.as_view(),
        name="operation-complete",
    ),
]
