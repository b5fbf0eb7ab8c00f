"""Results for an agent or block that cannot run yet: credentials are missing, or its inputs are not valid."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal

from blocks.base import Block
from blocks.registry import get_registry
from executions.credentials.lookup import has_credential
from executions.errors import BadInputs
from executions.graph import Graph, Node
from tools.base import ToolResult

CREDENTIALS_LINK = "/account/credentials"


class SetupRequirements(ToolResult):
    """Credentials the user has to add first."""

    type: Literal["setup_requirements"] = "setup_requirements"
    name: str
    missing_credentials: list[dict[str, Any]]
    link: str


class InputValidationError(ToolResult):
    """Inputs that are not valid, and why; nothing was run."""

    type: Literal["input_validation_error"] = "input_validation_error"
    problems: dict[str, str]
    input_schema: dict[str, Any]


def setup_requirements(name: str, missing: list[dict[str, Any]]) -> SetupRequirements:
    providers = ", ".join(str(one["provider"]) for one in missing)
    return SetupRequirements(
        message=f"{name} needs credentials that are missing: {providers}. Add them under {CREDENTIALS_LINK}.",
        next_step=f"Ask the user to add them under {CREDENTIALS_LINK}; never ask for them in the chat.",
        name=name,
        missing_credentials=missing,
        link=CREDENTIALS_LINK,
    )


def invalid_inputs(error: BadInputs, input_schema: Mapping[str, Any]) -> InputValidationError:
    problems = "; ".join(f"{name or 'inputs'}: {text}" for name, text in error.problems.items())
    return InputValidationError(
        message=f"Nothing was run because the inputs are not valid. {problems}",
        problems=error.problems,
        input_schema=dict(input_schema),
    )


# --- missing credentials --------------------------------------------------------------------------


def missing_for_graph(user_id: int, graph: Graph) -> list[dict[str, Any]]:
    """Return one entry per provider that a node needs and the user has no credential for."""
    registry = get_registry()
    used = [(node, registry.get(node.block_id)) for node in graph.nodes if node.block_id in registry]
    return list(_missing(user_id, used))


def missing_for_block(user_id: int, block: Block, values: dict[str, Any]) -> list[dict[str, Any]]:
    node = Node(id="", block_id=block.id, input_default=values)
    return list(_missing(user_id, [(node, block)]))


def _missing(user_id: int, used: Iterable[tuple[Node, Block]]) -> Iterator[dict[str, Any]]:
    reported: set[str] = set()
    for node, block in used:
        need = block.credentials
        if need is None or not need.required or need.provider in reported:
            continue
        if not has_credential(user_id, need.provider, _chosen_id(node)):
            reported.add(need.provider)
            yield {"provider": need.provider, "type": need.kind, "block": block.name, "note": need.note}


def _chosen_id(node: Node) -> str:
    """Return the id of the credential that the node names, or an empty string."""
    given = node.input_default.get("credentials")
    return str(given.get("id") or "") if isinstance(given, dict) else ""
