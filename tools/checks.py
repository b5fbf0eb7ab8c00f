"""The system check for tools that cannot be used."""

from __future__ import annotations

from typing import Any

from django.core.checks import CheckMessage, Error

from tools import registry
from tools.errors import BadTool


def check_tools(**_: Any) -> list[CheckMessage]:
    try:
        registry.current().check_size()
    except BadTool as error:
        return [Error(str(error), id="tools.E001")]
    return []
