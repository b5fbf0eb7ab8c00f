"""Agents for the tests: small ones built by hand, and documents as AutoGPT exports them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from blocks.registry import get_registry

JSON = Any


def block_id(name: str) -> str:
    return get_registry().get_by_name(name).id


def node(node_id: str, block: str, x: float = 0.0, y: float = 0.0, /, **values: JSON) -> dict[str, JSON]:
    """A node of the block with that name; nested pins are given as `{"values_#_k": ...}` by `given`."""
    return {
        "id": node_id,
        "block_id": block_id(block),
        "input_default": values,
        "metadata": {"position": {"x": x, "y": y}},
    }


def link(source: str, sink: str, *, is_static: bool = False) -> dict[str, JSON]:
    """From `node.pin` to `node.pin`; the first dot parts them."""
    source_id, source_name = source.split(".", 1)
    sink_id, sink_name = sink.split(".", 1)
    return {
        "id": f"{source}->{sink}",
        "source_id": source_id,
        "source_name": source_name,
        "sink_id": sink_id,
        "sink_name": sink_name,
        "is_static": is_static,
    }


def agent(
    nodes: list[JSON], links: list[JSON] | None = None, *, id: str = "sample", **fields: JSON
) -> dict[str, JSON]:
    document = {"id": id, "version": 1, "is_active": True, "name": "Sample", "description": ""}
    return document | {"nodes": spread(nodes), "links": links or []} | fields


def spread(nodes: list[JSON]) -> list[JSON]:
    """Each on a place of its own, so that nothing is said about that."""
    for number, one in enumerate(nodes):
        if isinstance(one, dict) and isinstance(one.get("metadata"), dict):
            one["metadata"] = {**one["metadata"], "position": {"x": 500.0 * number, "y": 0.0}}
    return nodes


def adder(**fields: JSON) -> dict[str, JSON]:
    """Adds 34 to its input: nothing is wrong with it."""
    return (
        agent(
            [
                node("in", "Agent Number Input", name="Number"),
                node("add", "Calculator", operation="Add", b=34),
                node("out", "Agent Output", name="Sum"),
            ],
            [link("in.result", "add.a", is_static=True), link("add.result", "out.value")],
        )
        | fields
    )


# --- as AutoGPT exports them --------------------------------------------------------------------


def exported(document: dict[str, JSON]) -> dict[str, JSON]:
    """With everything an export repeats and adds."""
    links = document["links"]
    for one in document["nodes"]:
        one |= {
            "input_links": [link for link in links if link["sink_id"] == one["id"]],
            "output_links": [link for link in links if link["source_id"] == one["id"]],
            "graph_id": document["id"],
            "graph_version": document["version"],
            "webhook_id": None,
            "webhook": None,
        }
    more: dict[str, JSON] = {"instructions": None, "recommended_schedule_cron": None, "forked_from_id": None}
    more |= {"forked_from_version": None, "user_id": "", "created_at": "2026-04-13T03:45:11.241Z"}
    more |= {"has_external_trigger": False, "trigger_setup_info": None}
    more |= {"credentials_input_schema": {"type": "object", "properties": {}, "required": []}}
    more |= {"sub_graphs": [], "x_from_the_future": {"kept": [1, None]}}
    return more | document


def win_back_email() -> dict[str, JSON]:
    """Partial pins, input names with spaces, legacy keys on inputs, a model of another house, no credentials."""
    prompt = "Write to {{contact}} about {{offer}}."
    names = {"contact": "Contact or Segment", "offer": "The Offer!", "sender": "User's Email"}
    nodes = [
        node(key, "Agent Short Text Input", name=name, secret=False, advanced=False, placeholder_values=[])
        for key, name in names.items()
    ]
    nodes += [
        node(
            "write",
            "AI Text Generator",
            model="claude-sonnet-4-5-20250929",
            retry=3,
            prompt=prompt,
            sys_prompt="Write plainly.",
            prompt_values={},
        ),
        node("result", "Agent Output", name="Results!", secret=False, advanced=False, escape_html=False),
    ]
    links = [link(f"{key}.result", f"write.prompt_values_#_{key}", is_static=True) for key in names]
    links.append(link("write.response", "result.value"))
    return exported(
        agent(nodes, links, id="964fa167-39d4-5d0f-83db-ba2571ce0880", version=3, name="Win-back Email")
    )


def old_discord_template() -> dict[str, JSON]:
    """No sub_graphs, no schemas, `subgraphs` empty, old pin names, an old key, and a block that is not here."""
    nodes = [
        node("time", "Get Current Date", trigger="go", offset=0, format="%Y-%m-%d"),
        node("join", "Combine Texts", delimiter=" "),
        node(
            "ai",
            "AI Text Generator",
            prompt="Say it nicely: {{x}}",
            api_key="sk-old-key-of-somebody-0123456789",
        ),
        {
            "id": "send",
            "block_id": "d0822ab5-9f8a-44a3-8971-531dd0178b6b",
            "input_default": {},
            "metadata": {},
        },
        node("out", "Agent Output", name="Sent", secret=False),
    ]
    links = [
        link("time.date", "join.input1"),
        link("ai.response", "join.input2"),
        link("join.output", "send.message_content"),
        link("send.status", "out.value"),
    ]
    return agent(nodes, links, id="discord", name="Discord bot", subgraphs={})


def research_crew() -> dict[str, JSON]:
    """An orchestrator in loop mode: tool links under old names and plain ones, wired back to itself."""
    nodes = [
        node("goal", "Agent Long Text Input", name="Goal"),
        node("boss", "Orchestrator", model="gpt-5", sys_prompt="Use the tools."),
        node("sum", "Calculator", operation="Add"),
        node("wiki", "Get Wikipedia Summary"),
        node("done", "Agent Output", name="Answer"),
    ]
    links = [
        link("goal.result", "boss.prompt", is_static=True),
        link("boss.tools_^_add_two_numbers_~_a", "sum.a"),
        link("boss.tools_^_add_two_numbers_~_b", "sum.b"),
        link("boss.tools", "wiki.topic"),
        link("sum.result", "boss.last_tool_output"),
        link("wiki.summary", "boss.last_tool_output"),
        link("boss.conversations", "boss.conversation_history"),
        link("boss.finished", "done.value"),
    ]
    return exported(agent(nodes, links, id="research", version=7, name="Research crew"))


def sub_agent(
    id: str, inputs: list[str], outputs: list[str], *, version: int = 1, name: str = ""
) -> dict[str, JSON]:
    """An agent that passes its inputs on to its outputs."""
    nodes = [node(f"in {key}", "Agent Short Text Input", name=key) for key in inputs]
    nodes += [node(f"out {key}", "Agent Output", name=key, value="nothing") for key in outputs]
    links = [
        link(f"in {given}.result", f"out {made}.value", is_static=True)
        for given, made in zip(inputs, outputs, strict=False)
    ]
    return exported(agent(nodes, links, id=id, version=version, name=name or id))


def executor(
    node_id: str, graph_id: str, takes: list[str], gives: list[str], *, version: int = 1, **values: JSON
) -> dict[str, JSON]:
    """A node that runs an agent known by these names."""
    return node(
        node_id,
        "Agent Executor",
        graph_id=graph_id,
        graph_version=version,
        input_schema={"type": "object", "properties": {name: {} for name in takes}, "required": takes},
        output_schema={"type": "object", "properties": {name: {} for name in gives}},
        **values,
    )


def newsroom() -> dict[str, JSON]:
    """Three sub-agents whose ids were given anew at export: the nodes still name the old ones."""
    names = (["User's Topic"], ["Results!"])
    nodes = [
        node("topic", "Agent Short Text Input", name="Topic"),
        executor("research", "old-1", *names, version=2, user_id="someone"),
        executor("write", "old-2", *names, version=5),
        executor("check", "old-3", ["text", "Language"], ["ok"], inputs={"Language": "en"}),
        node("out", "Agent Output", name="Article"),
    ]
    links = [
        link("topic.result", "research.User's Topic", is_static=True),
        link("research.Results!", "write.User's Topic"),
        link("write.Results!", "check.text"),
        link("check.ok", "out.value"),
    ]
    subs = [
        sub_agent("new-a", *names, version=5, name="Writer"),
        sub_agent("new-b", *names, version=2, name="Researcher"),
        sub_agent("new-c", ["Language", "text"], ["ok"], name="Checker"),
    ]
    return exported(agent(nodes, links, id="newsroom", version=4, name="Newsroom")) | {"sub_graphs": subs}


def exported_adder() -> dict[str, JSON]:
    return exported(adder())


EXPORTS: dict[str, Callable[[], dict[str, JSON]]] = {
    "win-back email": win_back_email,
    "old discord template": old_discord_template,
    "research crew": research_crew,
    "newsroom": newsroom,
    "adder": exported_adder,
}
