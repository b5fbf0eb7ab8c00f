"""The building guide: what a model needs to know to draw an agent, short enough for a small context."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass

from blocks.base import Block
from blocks.registry import BlockRegistry, get_registry
from executions.agents.validation.scope import allow_all
from executions.generator.block_index import index_by_category
from executions.generator.example import example_graph
from executions.graph import graph_to_json

FORMAT = """\
An agent is one JSON object:
{"name", "description", "nodes": [...], "links": [...]}
node: {"id": any text unique in the agent, "block_id": id from the index, "input_default": {pin: value}, \
"metadata": {"position": {"x", "y"}}}
link: {"id", "source_id": node, "source_name": output pin, "sink_id": node, "sink_name": input pin, "is_static": bool}
- A pin gets its value from input_default or from a link, never from both.
- Nested pins: values_#_name is the key `name` of an object, list_$_0 the first item of a list, value_@_field an \
attribute. So Fill Text Template with format "Hello {{name}}" takes a link into values_#_name, Combine Texts takes \
links into input_$_0, input_$_1.
- is_static is true for links that leave Input nodes and Store Value: their value is kept and used again."""
RULES = """\
1. What the person enters at each run is a node of the Input family, its input_default {"name": ...}; a `value` there \
makes it optional. Link its `result` onward.
2. Each result of the agent is an Agent Output node: input_default {"name": ...}, a link into its `value`.
3. Every input pin marked * needs a value or a link. Pins not shown have sensible defaults: leave them out.
4. Use only blocks of the index, by their exact ids and pin names. find_block shows all pins of a block.
5. Types must fit: text to num, int, list and obj is converted where possible; anything else needs a Universal Type \
Converter in between.
6. Every block has an output `error`; unlinked, a failure ends the run.
7. Iterate over a list with Step Through Items (one run of what follows per item); AI Text Generator fills \
{{name}} in its prompt from prompt_values_#_name.
8. A person approves with Human In The Loop: `data` in, `approved_data` and `rejected_data` out.
9. Run another agent with Agent Executor: input_default {"graph_id", "graph_version", "input_schema", \
"output_schema", "inputs": {}}; its input pins are that agent's inputs, its output pins that agent's outputs.
10. No secrets anywhere: credentials are chosen by provider when the agent runs.
11. No endless loops. There is no node for time: create schedules with run_agent and a cron expression."""
WORKFLOW = """\
1. Understand the goal. If information is missing, use ask_question. For several steps, decompose_goal shows the plan.
2. Check with find_library_agent and find_agent whether it exists. Pass agents to reuse as library_agent_ids.
3. create_agent with a description builds it; or draw the JSON yourself, check it with validate_agent_graph, repair \
it with fix_agent_graph, and save it with create_agent(agent_json=...).
4. edit_agent changes a saved agent: describe the changes, or give the whole JSON with the ids of unchanged nodes.
5. create_agent, edit_agent and customize_agent run in the background: tell the person, end your answer, and continue \
when you are called again with the result.
6. run_agent with wait_for_result tries it; view_agent_output shows earlier runs."""


@dataclass(frozen=True, kw_only=True)
class Guide:
    """The sections of the guide."""

    format: str
    rules: str
    example: str
    workflow: str
    blocks: dict[str, str]

    def as_text(self) -> str:
        """Return the whole guide as one text, for a prompt."""
        index = "\n".join(f"# {category}\n{lines}" for category, lines in self.blocks.items())
        return "\n\n".join(
            [
                f"## Format\n{self.format}",
                f"## Rules\n{self.rules}",
                f"## Example\n{self.example}",
                f"## Blocks: name | id | inputs (* required) | outputs | what it does\n{index}",
            ]
        )


def write_guide(registry: BlockRegistry | None = None, may_use: Callable[[Block], bool] = allow_all) -> Guide:
    """Return the guide for the blocks that may be used."""
    known = registry or get_registry()
    example = json.dumps(graph_to_json(example_graph(known)), ensure_ascii=False, separators=(",", ":"))
    return Guide(
        format=FORMAT,
        rules=RULES,
        example=f"Greets a person by name:\n{example}",
        workflow=WORKFLOW,
        blocks=index_by_category(known, may_use),
    )
