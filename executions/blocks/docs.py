"""The pages of docs/blocks, written from the catalogue: one per category, and an index."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence

from executions.blocks.base import Block, BlockType, Effects
from executions.blocks.examples import EMPTY_WORLD, Example
from executions.blocks.registry import Registry
from executions.blocks.schema import JSON, Pin

NOTICE = "<!-- Written from the code by `./copilot block_docs`. Change the code, then run it again. -->"
EFFECTS = {
    Effects.PURE: "changes nothing outside",
    Effects.NETWORK: "reads from outside",
    Effects.EFFECTFUL: "changes something outside",
}
HOW_TO_ADD = """## Adding a block

A block is one file in `executions/blocks/catalog/`; another Django app keeps its own in a module named
`copilot_blocks`, found like `admin`. The function emits pairs of output pin and value; it raises `BlockFailed` with a
sentence for the person; it reaches the world only through `context.ports` (`executions/ports.py`).

```python
class Inputs(BlockInputs):
    text: Text = pin(description="What to say.")


class Outputs(BlockOutputs):
    loud: Text


@block(
    id="00000000-0000-4000-8000-000000000000",
    name="Shout",
    category=Category.TEXT,
    inputs=Inputs,
    outputs=Outputs,
    examples=[
        Example(inputs={"text": "hi"}, outputs=[("loud", "HI!")]),
        Example(inputs={}, error="needs the input 'text'"),
    ],
)
def shout(inputs: Inputs, context: BlockContext) -> Emissions:
    \"\"\"Says it loudly.\"\"\"
    yield "loud", inputs.text.upper() + "!"
```

Two blocks with one id or name, and a block without an example that works and one that fails, are errors of
`./copilot check`.""".splitlines()
TITLES = {"AI": "AI", "DEVELOPER_TOOLS": "Developer tools"}


def write_pages(registry: Registry) -> Mapping[str, str]:
    """Every page by its file name."""
    pages = {"README.md": write_index(registry)}
    for category, blocks in by_category(registry).items():
        pages[page_name(category)] = write_category(category, blocks)
    return pages


def write_index(registry: Registry) -> str:
    lines = [
        NOTICE,
        "# Blocks",
        "",
        f"The {len(registry)} blocks an agent can be made of. Each page shows inputs, outputs and examples; the",
        "examples are run as tests. Inputs are prepared in one way for all: nulls are dropped, values are coerced to",
        "the type of the pin (text to number, JSON text to list or object, a single value to a list of one), then",
        "checked. A failure ends the node, and its sentence travels along links from `error`.",
        "",
        *HOW_TO_ADD,
    ]
    for category, blocks in by_category(registry).items():
        lines += ["", f"## [{title(category)}]({page_name(category)})", "", "| block | does |", "|---|---|"]
        lines += [
            f"| [{block.name}]({page_name(category)}#{anchor(block.name)}) | {cell(block.description)} |"
            for block in blocks
        ]
    return join(lines)


def write_category(category: str, blocks: Sequence[Block]) -> str:
    lines = [NOTICE, f"# {title(category)} blocks", "", "[All blocks](README.md)"]
    for block in blocks:
        lines += ["", *write_block(block)]
    return join(lines)


def write_block(block: Block) -> Iterator[str]:
    yield f"## {block.name}"
    yield ""
    yield block.description
    yield ""
    yield f"`{block.id}` · {' · '.join(write_facts(block))}"
    yield from write_pins("Inputs", block.input_pins, with_defaults=True)
    yield from write_pins("Outputs", block.output_pins, with_defaults=False)
    if block.dynamic_inputs:
        yield ""
        yield f"Further inputs are the properties of `{block.dynamic_inputs.schema_pin}`."
    yield ""
    yield "```text"
    shown = [example for example in block.examples if example.documented]
    for number, example in enumerate(shown):
        if number:
            yield ""
        yield from write_example(example)
    yield "```"


def write_facts(block: Block) -> Iterator[str]:
    yield EFFECTS[block.effects]
    if block.type is not BlockType.STANDARD:
        yield f"type {block.type}"
    if block.static_output:
        yield "its outputs may be used again and again"
    if block.repeats:
        yield f"may emit many times on {', '.join(f'`{pin}`' for pin in block.repeats)}"
    if block.nondeterministic:
        yield "depends on time, chance or stored values"
    if block.sensitive:
        yield "may ask for a review"
    if not block.runs_alone:
        yield "only inside an agent"
    if block.credentials:
        need = block.credentials
        kind = "needs" if need.required else "can use"
        yield f"{kind} a {need.provider} credential ({need.kind})" + (f"; {need.note}" if need.note else "")
    yield "no time cap" if block.time_cap_seconds is None else f"time cap {block.time_cap_seconds:g} s"
    if block.cost:
        yield f"costs {write_cost(block)}"


def write_cost(block: Block) -> str:
    cost = block.cost
    parts = {"run": cost.per_run, "second": cost.per_second, "item": cost.per_item, "token": cost.per_token}
    return ", ".join(f"${amount} per {unit}" for unit, amount in parts.items() if amount)


def write_pins(heading: str, pins: Sequence[Pin], *, with_defaults: bool) -> Iterator[str]:
    if not pins:
        return
    yield ""
    if with_defaults:
        yield f"| {heading.lower()} | type | default | |"
        yield "|---|---|---|---|"
    else:
        yield f"| {heading.lower()} | type |"
        yield "|---|---|"
    for pin in pins:
        kind = cell(f"`{write_type(pin)}`")
        if with_defaults:
            default = "**required**" if pin.required and not pin.provided else code(pin.default)
            yield f"| `{pin.name}` | {kind} | {default} | {cell(pin.description)} |"
        else:
            yield f"| `{pin.name}` | {kind} |"


def write_type(pin: Pin) -> str:
    if not pin.enum:
        return pin.type
    choices = " / ".join(str(choice) for choice in pin.enum)
    return pin.type.replace("enum", choices, 1)


def write_example(example: Example) -> Iterator[str]:
    if example.note:
        yield f"# {example.note}"
    yield from (f"in    {name} = {dump(value)}" for name, value in example.inputs.items())
    if example.world is not EMPTY_WORLD:
        yield from (f"with  {line}" for line in write_world(example))
    yield from (f"out   {pin} = {dump(value)}" for pin, value in example.outputs)
    if example.error:
        yield f"fails … {example.error} …"
    elif not example.outputs:
        yield "emits nothing"


def write_world(example: Example) -> Iterator[str]:
    """What is special about the world of an example, in few words."""
    world = example.world
    yield from (f"{url} answering {page.status}" for url, page in world.pages.items())
    yield from (f"the workspace file {name}" for name in world.files)
    yield from (f"{name} stored as {dump(value)}" for name, value in world.stored.items())
    yield from (f"a model that answers {describe_reply(reply)}" for reply in world.replies)
    yield from (f"a {credential.provider} credential" for credential in world.credentials)
    if world.from_chat:
        yield "a chat that runs it"
    if not world.safe_mode:
        yield "safe mode off"
    if world.timezone != EMPTY_WORLD.timezone:
        yield f"the user in {world.timezone}"
    if world.recorded_outputs:
        yield f"{world.recorded_outputs} outputs already recorded"


def describe_reply(reply: object) -> str:
    if isinstance(reply, str):
        return dump(reply)
    if isinstance(reply, Exception):
        return f"with {type(reply).__name__}"
    return (
        " and ".join(f"{call.name}({call.arguments})" for call in reply)
        if isinstance(reply, list)
        else str(reply)
    )


def by_category(registry: Registry) -> dict[str, list[Block]]:
    groups: dict[str, list[Block]] = {}
    for block in sorted(registry, key=lambda block: (block.category, block.name)):
        groups.setdefault(block.category, []).append(block)
    return groups


def page_name(category: str) -> str:
    return f"{category.lower()}.md"


def title(category: str) -> str:
    return TITLES.get(category, category.capitalize())


def anchor(name: str) -> str:
    return name.lower().replace(" ", "-")


def code(value: JSON) -> str:
    return "" if value is None else cell(f"`{dump(value)}`")


def cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def dump(value: JSON) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 300 else text[:300] + "…"


def join(lines: Iterable[str]) -> str:
    return "\n".join(lines) + "\n"
