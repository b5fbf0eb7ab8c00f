"""Addresses of the MCP server."""

from django.urls import path

from doors.mcp import views

urlpatterns = [path("mcp", views.endpoint, name="mcp")]
