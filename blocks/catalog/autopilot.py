"""AutoPilot: run a turn of the copilot inside an agent."""

from typing import Literal

from blocks.base import Category, Effects, Emissions, Leaves, block, repeatable_by_key
from blocks.context import BlockContext
from blocks.errors import BlockFailed
from blocks.examples import Example, World
from blocks.ports import CopilotAnswer, TurnOrder
from blocks.schema import (
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


class Inputs(BlockInputs):
    prompt: Text = pin(description="The task for the copilot.")
    system_context: Text = pin("", description="Additional context for the copilot.", advanced=True)
    transport: Literal["platform", "codex_app_server"] | None = pin(
        None, description="Only `platform` is supported."
    )
    codex_credentials: Credentials = pin(None, description="Not used.")
    session_id: Text = pin("", description="One of your sessions to continue.", advanced=True)
    max_recursion_depth: Integer = pin(
        3, description="How many levels of nested copilots are allowed.", advanced=True, ge=1, le=10
    )
    tools: Texts = pin([], description="Tools to exclude, or to allow exclusively.", advanced=True)
    tools_exclude: Boolean = pin(
        True, description="Exclude the listed tools instead of allowing only them.", advanced=True
    )
    blocks: Texts = pin([], description="Blocks to exclude, or to allow exclusively.", advanced=True)
    blocks_exclude: Boolean = pin(
        True, description="Exclude the listed blocks instead of allowing only them.", advanced=True
    )
    dry_run: Boolean = pin(False, description="Do nothing that changes anything.", advanced=True)


class Outputs(BlockOutputs):
    response: Text
    tool_calls: Objects
    conversation_history: Text
    session_id: Text
    token_usage: Object


ANSWER = CopilotAnswer(
    session_id="s1",
    response="Done.",
    history="user: Tidy up\nassistant: Done.",
    prompt_tokens=10,
    completion_tokens=5,
)
FAILED = CopilotAnswer(session_id="s1", response="", error="The model could not be reached.")
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
        note="the session id is emitted before the error",
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
    outputs=Outputs,
    examples=EXAMPLES,
    effects=Effects.EFFECTFUL,
    reads_outside=True,
    leaves=Leaves.NOTHING,
    repeatable=repeatable_by_key,
    runs_alone=False,
    time_cap_seconds=None,
)
def autopilot(inputs: Inputs, context: BlockContext) -> Emissions:
    """Give the copilot a task in a separate session and return its answer and tool calls."""
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
