"""The addresses of agents and what runs them, under /api/."""

from __future__ import annotations

from django.urls import URLPattern

urlpatterns: list[URLPattern] = []
