"""URLs of the API of tools, under /api/."""

from django.urls import path

from tools.api import policies

urlpatterns = [
    path("tools", policies.ToolRules.as_view(), name="tools"),
    path("tools/<str:name>/rule", policies.OneToolRule.as_view(), name="tool-rule"),
]
