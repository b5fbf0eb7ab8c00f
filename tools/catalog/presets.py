"""list_presets, save_preset, run_preset and delete_preset: saved inputs of the user's agents."""

from __future__ import annotations

import uuid
from typing import Any, Literal

from pydantic import Field, model_validator

from executions import limits as executions_limits
from executions.agents.versions import get_version
from executions.errors import BadInputs
from executions.inputs import fit_inputs
from executions.models import Preset
from executions.redaction import shown_inputs, words_in
from tools import limits
from tools.agent_lookup import by_library_id
from tools.base import Effect, Reads, ToolArgs, ToolResult, WaitSeconds, tool
from tools.catalog import run_agent as runs
from tools.context import ToolContext
from tools.errors import ToolError, as_tool_errors
from tools.execution_output import AgentOutput
from tools.preconditions import login_required
from tools.setup_requirements import InputValidationError, SetupRequirements, invalid_inputs

CAP_SECONDS = executions_limits.MAX_TOOL_WAIT_SECONDS + limits.TOOL_SECONDS


class ListPresetsArgs(ToolArgs):
    library_agent_id: str | None = Field(default=None, max_length=64, description="Only of this agent.")


class SavePresetArgs(ToolArgs):
    preset_id: str | None = Field(default=None, max_length=64, description="To change one.")
    library_agent_id: str | None = Field(
        default=None, max_length=64, description="To make one for this agent."
    )
    name: str | None = Field(default=None, max_length=200)
    inputs: dict[str, Any] = Field(
        default_factory=dict, description="Values by input name; null removes one."
    )

    @model_validator(mode="after")
    def one_way(self) -> SavePresetArgs:
        if bool(self.preset_id) == bool(self.library_agent_id):
            raise ValueError("give either preset_id or library_agent_id")
        if self.library_agent_id and not self.name:
            raise ValueError("a new preset needs a name")
        return self


class RunPresetArgs(ToolArgs):
    preset_id: str = Field(min_length=1, max_length=64)
    inputs: dict[str, Any] = Field(
        default_factory=dict, description="Values that replace saved ones this time."
    )
    wait_for_result: WaitSeconds = 0.0
    notify: bool = False


class DeletePresetArgs(ToolArgs):
    preset_id: str = Field(min_length=1, max_length=64)


class PresetList(ToolResult):
    type: Literal["preset_list"] = "preset_list"
    presets: list[dict[str, Any]]


class PresetSaved(ToolResult):
    type: Literal["preset_saved"] = "preset_saved"
    preset: dict[str, Any]


class PresetDeleted(ToolResult):
    type: Literal["preset_deleted"] = "preset_deleted"
    preset_id: str


@tool(gates=[login_required], reads=Reads.NOTHING, holds=False)
def list_presets(args: ListPresetsArgs, context: ToolContext) -> PresetList:
    """List the saved inputs of the user's agents."""
    rows = Preset.objects.filter(user=context.user, agent__deleted_at=None).select_related("agent")
    if args.library_agent_id:
        rows = rows.filter(agent=by_library_id(args.library_agent_id, context))
    shown = [describe(row) for row in rows.order_by("agent__name", "name")[: limits.MAX_PRESETS_LISTED]]
    message = "There is 1 preset." if len(shown) == 1 else f"There are {len(shown) or 'no'} presets."
    return PresetList(message=message, presets=shown)


@tool(effect=Effect.IDEMPOTENT, gates=[login_required], reads=Reads.NOTHING, holds=True)
def save_preset(args: SavePresetArgs, context: ToolContext) -> PresetSaved | InputValidationError:
    """Save inputs for an agent under a name, or change saved ones: only the inputs that are given change."""
    agent = by_library_id(args.library_agent_id, context) if args.library_agent_id else None
    known = (
        find(args.preset_id, context)
        if args.preset_id
        else Preset.objects.filter(user=context.user, agent=agent, name=args.name).first()
    )
    preset = known or Preset(user=context.user, agent=agent, name=args.name or "")
    merged = {**preset.inputs, **args.inputs}
    preset.inputs = {name: value for name, value in merged.items() if value is not None}
    preset.name = args.name or preset.name
    with as_tool_errors():
        schema = get_version(preset.agent).input_schema
    try:
        fit_inputs(preset.inputs, schema | {"required": []})
    except BadInputs as error:
        return invalid_inputs(error, schema)
    context.with_result(preset.save)
    return PresetSaved(message=f"The preset {preset.name!r} was saved.", preset=describe(preset))


@tool(
    effect=Effect.IDEMPOTENT,
    cap_seconds=CAP_SECONDS,
    gates=[login_required],
    reads=Reads.PERHAPS,
    holds=False,
)
def run_preset(
    args: RunPresetArgs, context: ToolContext
) -> SetupRequirements | InputValidationError | runs.ExecutionStarted | AgentOutput | runs.AgentDetails:
    """Run an agent with saved inputs; some can be replaced for this run."""
    preset = find(args.preset_id, context)
    order = runs.Args(
        library_agent_id=str(preset.agent_id),
        inputs={**preset.inputs, **args.inputs},
        use_defaults=True,
        wait_for_result=args.wait_for_result,
        notify=args.notify,
    )
    return runs.run_agent.run(order, context)  # type: ignore[return-value]


@tool(effect=Effect.IDEMPOTENT, gates=[login_required], reads=Reads.NOTHING, holds=True)
def delete_preset(args: DeletePresetArgs, context: ToolContext) -> PresetDeleted:
    """Delete saved inputs."""
    preset = find(args.preset_id, context)
    context.with_result(preset.delete)
    message = f"The preset {preset.name!r} was deleted."
    return PresetDeleted(message=message, preset_id=args.preset_id)


def find(preset_id: str, context: ToolContext) -> Preset:
    """Return the user's preset; raises ToolError."""
    rows = Preset.objects.filter(user=context.user, agent__deleted_at=None).select_related("agent")
    try:
        found = rows.filter(pk=uuid.UUID(preset_id)).first()
    except ValueError:
        found = None
    if found is None:
        raise ToolError(
            "There is no such preset.", code="not_found", next_step="List them with list_presets."
        )
    return found


def describe(preset: Preset) -> dict[str, Any]:
    return {
        "preset_id": str(preset.pk),
        "name": preset.name,
        "agent_name": preset.agent.name,
        "library_agent_id": str(preset.agent_id),
        "inputs": shown_inputs(preset.inputs, secrets_in(preset)),
    }


def secrets_in(preset: Preset) -> frozenset[str]:
    """Return the values of inputs that the agent declares secret."""
    with as_tool_errors():
        properties = get_version(preset.agent).input_schema.get("properties") or {}
    secret = [
        name for name, schema in properties.items() if isinstance(schema, dict) and schema.get("secret")
    ]
    return frozenset(word for name in secret for word in words_in(preset.inputs.get(name)))
