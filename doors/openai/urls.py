"""Addresses of the OpenAI door, under /v1/."""

from django.urls import path, re_path

from doors.openai import views
from doors.openai.views import endpoint

urlpatterns = [
    path("models", endpoint(get=views.list_models)),
    path("models/<path:name>", endpoint(get=views.show_model)),
    path("chat/completions", endpoint(post=views.create_completion)),
    path("responses", endpoint(post=views.create_response)),
    path("responses/<str:response_id>", endpoint(get=views.show_response, delete=views.delete_response)),
    path("responses/<str:response_id>/cancel", endpoint(post=views.cancel_response)),
    path("responses/<str:response_id>/input_items", endpoint(get=views.list_input)),
    path("embeddings", endpoint(post=views.create_embeddings)),
    re_path("", views.unknown_address),
]
