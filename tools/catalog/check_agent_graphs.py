"""validate_agent_graph and fix_agent_graph: check an agent's JSON, and repair what can be repaired safely."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from executions.agents.repair import fix_graph
from executions.agents.validation import ValidationReport
from executions.agents.versions import validate_graph
from executions.graph import graph_to_json
from tools.agent_builder import AgentJson, read_agent, scope_for
from tools.base import Reads, ToolArgs, ToolResult, tool
from tools.context import ToolContext
from tools.preconditions import guide_read, login_required


class Args(ToolArgs):
    agent_json: AgentJson = Field(description="The whole agent.")


class ValidationResult(ToolResult):
    type: Literal["validation_result"] = "validation_result"
    valid: bool
    errors: list[dict[str, Any]]
    warnings: list[dict[str, Any]]
    error_count: int


class FixResult(ToolResult):
    type: Literal["fix_result"] = "fix_result"
    agent_json: dict[str, Any]
    fixes: list[str]
    valid: bool
    errors: list[dict[str, Any]]


@tool(gates=[login_required, guide_read], reads=Reads.NOTHING, holds=False)
def validate_agent_graph(args: Args, context: ToolContext) -> ValidationResult:
    """Check an agent's JSON without saving it: all problems, each with its node, its pin and what to do.

    Call get_agent_building_guide first.
    """
    report = validate_graph(context.user, read_agent(args.agent_json), scope_for(context))
    shown = report.as_json()
    return ValidationResult(
        message=verdict(report), next_step=advice(report), **shown, error_count=len(report.errors)
    )


@tool(gates=[login_required, guide_read], reads=Reads.NOTHING, holds=False)
def fix_agent_graph(args: Args, context: ToolContext) -> FixResult:
    """Repair what can be repaired in an agent's JSON without guessing, and report what was done and what is left.

    A block that is not installed is replaced where a general one does the same. Call get_agent_building_guide first.
    """
    scope = scope_for(context)
    fixed, fixes = fix_graph(read_agent(args.agent_json), scope)
    report = validate_graph(context.user, fixed, scope)
    done = f"{len(fixes)} repair{'' if len(fixes) == 1 else 's'} made" if fixes else "Nothing to repair"
    return FixResult(
        message=f"{done}. {verdict(report)}",
        next_step=advice(report),
        agent_json=graph_to_json(fixed),
        fixes=[fix.message for fix in fixes],
        valid=report.valid,
        errors=[problem.as_json() for problem in report.errors],
    )


def advice(report: ValidationReport) -> str:
    """Tell the model what to do about blocks that are not installed; empty when there are none."""
    missing = [problem.missing for problem in report.errors if problem.missing is not None]
    if not missing:
        return ""
    if any(block.replaceable for block in missing):
        return "fix_agent_graph replaces the missing blocks that are marked replaceable. Find others with find_block."
    return "Find blocks for the missing ones with find_block, and use their ids as block_id."


def verdict(report: ValidationReport) -> str:
    if report.valid:
        return "The agent can run."
    first = report.errors[0].message
    more = f" And {len(report.errors) - 1} more." if len(report.errors) > 1 else ""
    return f"The agent cannot run yet: {first}{more}"
