"""Search of blocks by words or id."""

from __future__ import annotations

from collections.abc import Callable

from blocks.base import Block
from blocks.registry import BlockRegistry, get_registry
from executions import limits
from executions.agents.search import Match, Texts, check_query, rank
from executions.agents.validation.scope import allow_all


def find_blocks(
    query: str,
    *,
    registry: BlockRegistry | None = None,
    may_use: Callable[[Block], bool] = allow_all,
    most: int = limits.SEARCH_RESULTS,
) -> list[Match[Block]]:
    """Return blocks that match a query, best first; an id finds its block. Raises QueryTooLong."""
    known = registry or get_registry()
    exact = check_query(query)
    if exact in known:
        found = known.get(exact)
        return [Match(item=found, score=100.0)] if may_use(found) else []
    return rank(query, (block for block in known if may_use(block)), texts_of, most=most)


def texts_of(block: Block) -> Texts:
    pins = " ".join([*block.inputs_by_name, *block.outputs_by_name])
    return Texts(name=block.name, rest=f"{block.description} {block.category} {pins}")
