"""What is answered when something is missing or wrong before an agent or a block can run."""

from __future__ import annotations

from typing import Any, Literal

from tools.base import ToolResult


class SetupRequirements(ToolResult):
    """Credentials the user has to add first."""

    type: Literal["setup_requirements"] = "setup_requirements"
    name: str
    missing_credentials: list[dict[str, Any]]
    link: str


class InputValidationError(ToolResult):
    """Which inputs do not fit, and why; nothing was run."""

    type: Literal["input_validation_error"] = "input_validation_error"
    problems: dict[str, str]
    input_schema: dict[str, Any]
