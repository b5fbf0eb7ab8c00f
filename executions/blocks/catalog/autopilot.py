"""AutoPilot: a turn of the copilot inside an agent."""

from __future__ import annotations

from typing import Literal

from executions.blocks.base import Category, Effects, Emissions, Leaves, block, under_its_key
from executions.blocks.context import BlockContext
from executions.blocks.errors import BlockFailed
from executions.blocks.examples import Example, World
from executions.blocks.schema import (
    BlockInputs,
    BlockOutputs,
    Boolean,
    Credentials,
    Integer,
    Object,
    Objects,
    Text,
    Texts,
    pin,
)
from executions.ports import TurnAnswer, TurnOrder


class Inputs(BlockInputs):
    prompt: Text = pin(description="What the copilot should do.")
    system_context: Text = pin("", description="What it should know first.", advanced=True)
    transport: Literal["platform", "codex_app_server"] | None = pin(
        None, description="Only the platform's own."
    )
    codex_credentials: Credentials = pin(None, description="Not used.")
    session_id: Text = pin("", description="A session of yours to go on with.", advanced=True)
    max_recursion_depth: Integer = pin(
        3, description="How deep copilots may start copilots.", advanced=True, ge=1, le=10
    )
    tools: Texts = pin([], description="Tools it may not use, or may only use.", advanced=True)
    tools_exclude: Boolean = pin(True, description="The tools are those it may not use.", advanced=True)
    blocks: Texts = pin([], description="Blocks it may not use, or may only use.", advanced=True)
    blocks_exclude: Boolean = pin(True, description="The blocks are those it may not use.", advanced=True)
    dry_run: Boolean = pin(False, description="Run nothing that changes anything.", advanced=True)


class Outputs(BlockOutputs):
    response: Text
    tool_calls: Objects
    conversation_history: Text
    session_id: Text
    token_usage: Object


ANSWER = TurnAnswer(
    session_id="s1",
    response="Done.",
    history="user: Tidy up\nassistant: Done.",
    prompt_tokens=10,
    completion_tokens=5,
)
FAILED = TurnAnswer(session_id="s1", response="", error="The model could not be reached.")
EXAMPLES = [
    Example(
        inputs={"prompt": "Tidy up"},
        outputs=[
            ("response", "Done."),
            ("tool_calls", []),
            ("conversation_history", "user: Tidy up\nassistant: Done."),
            ("session_id", "s1"),
            ("token_usage", {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}),
        ],
        world=World(turn=ANSWER),
    ),
    Example(
        inputs={"prompt": "Tidy up"},
        outputs=[("session_id", "s1")],
        error="The model could not be reached.",
        note="the session comes out before the error",
        world=World(turn=FAILED),
    ),
    Example(inputs={"prompt": " "}, error="`prompt` is empty"),
    Example(inputs={"prompt": "Hi", "session_id": "of someone else"}, error="not yours"),
    Example(inputs={"prompt": "Hi", "transport": "codex_app_server"}, error="not available"),
    Example(inputs={"prompt": "Hi", "max_recursion_depth": 11}, error="less than or equal to 10"),
]


@block(
    id="c069dc6b-c3ed-4c12-b6e5-d47361e64ce6",
    name="AutoPilot",
    category=Category.AI,
    inputs=Inputs,
    outputs=Outputs,
    examples=EXAMPLES,
    effects=Effects.EFFECTFUL,
    reads_outside=True,
    leaves=Leaves.NOTHING,
    repeatable=under_its_key,
    runs_alone=False,
    time_cap_seconds=None,
)
def autopilot(inputs: Inputs, context: BlockContext) -> Emissions:
    """Gives the copilot a task in a session of its own, waits for it and emits what it answered and did."""
    if not inputs.prompt.strip():
        raise BlockFailed("`prompt` is empty.")
    if inputs.transport == "codex_app_server":
        raise BlockFailed("The transport codex_app_server is not available here. Use platform.")
    answer = context.ports.turns.run(make_order(inputs, context), context.cancel)
    context.meter.add(tokens=answer.prompt_tokens + answer.completion_tokens)
    if answer.error:
        yield "session_id", answer.session_id
        raise BlockFailed(answer.error)
    yield "response", answer.response
    yield "tool_calls", [dict(call) for call in answer.tool_calls]
    yield "conversation_history", answer.history
    yield "session_id", answer.session_id
    yield (
        "token_usage",
        {
            "prompt_tokens": answer.prompt_tokens,
            "completion_tokens": answer.completion_tokens,
            "total_tokens": answer.prompt_tokens + answer.completion_tokens,
        },
    )


def make_order(inputs: Inputs, context: BlockContext) -> TurnOrder:
    return TurnOrder(
        prompt=inputs.prompt,
        system_context=inputs.system_context,
        session_id=inputs.session_id,
        max_depth=inputs.max_recursion_depth,
        permissions={
            "tools": allow_or_deny(inputs.tools, exclude=inputs.tools_exclude),
            "blocks": allow_or_deny(inputs.blocks, exclude=inputs.blocks_exclude),
        },
        dry_run=inputs.dry_run,
        key=context.idempotency_key,
    )


def allow_or_deny(names: Texts, *, exclude: bool) -> Object:
    return {"allow": None, "deny": names} if exclude else {"allow": names, "deny": []}
