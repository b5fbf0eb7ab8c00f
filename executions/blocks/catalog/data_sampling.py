"""Data Sampling: some entries of many."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from typing import Literal

from executions.blocks.base import Category, Emissions, block
from executions.blocks.context import BlockContext
from executions.blocks.errors import BlockFailed
from executions.blocks.examples import Example, World
from executions.blocks.families.equality import equality_key
from executions.blocks.pins import MISSING
from executions.blocks.schema import (
    JSON,
    BlockInputs,
    BlockOutputs,
    Boolean,
    Integer,
    Integers,
    Object,
    Rows,
    Text,
    pin,
)
from executions.ports import StoreScope

Method = Literal["random", "systematic", "top", "bottom", "stratified", "weighted", "reservoir", "cluster"]
STATE_KEY = "data_sampling"


class Inputs(BlockInputs):
    data: Object | Rows = pin(description="The entries: a list of objects or lists, or one object.")
    sample_size: Integer = pin(10, description="How many to pick.", advanced=True)
    sampling_method: Method = pin("random", description="How to pick.", advanced=True)
    accumulate: Boolean = pin(
        False, description="Gather data over several runs before picking.", advanced=True
    )
    random_seed: Integer | None = pin(None, description="The same seed picks the same.", advanced=True)
    stratify_key: Text | None = pin(
        None, description="The key whose shares are kept (stratified).", advanced=True
    )
    weight_key: Text | None = pin(None, description="The key with the weight (weighted).", advanced=True)
    cluster_key: Text | None = pin(None, description="The key that names the group (cluster).", advanced=True)


class Outputs(BlockOutputs):
    sampled_data: Rows
    sample_indices: Integers


LETTERS = [{"id": letter, "group": group} for letter, group in zip("abcdef", "xxxxyy", strict=True)]
EXAMPLES = [
    Example(
        inputs={"data": LETTERS, "sample_size": 2, "sampling_method": "top"},
        outputs=[("sampled_data", LETTERS[:2]), ("sample_indices", [0, 1])],
    ),
    Example(
        inputs={"data": LETTERS, "sample_size": 2, "sampling_method": "bottom"},
        outputs=[("sampled_data", LETTERS[4:]), ("sample_indices", [4, 5])],
    ),
    Example(
        inputs={"data": [[1], [2]], "sample_size": 2, "sampling_method": "systematic", "random_seed": 1},
        outputs=[("sampled_data", [[1], [2]]), ("sample_indices", [0, 1])],
    ),
    Example(
        inputs={"data": [{"id": 1}], "sample_size": 3, "accumulate": True},
        note="withheld until enough came in",
    ),
    Example(
        inputs={"data": [{"id": 3}], "sample_size": 3, "accumulate": True, "sampling_method": "top"},
        outputs=[("sampled_data", [{"id": 1}, {"id": 2}, {"id": 3}]), ("sample_indices", [0, 1, 2])],
        note="enough came in",
        world=World(
            stored={"node/data_sampling": {"parts": {"earlier-run": [{"id": 1}, {"id": 2}]}, "closed": {}}}
        ),
    ),
    Example(inputs={"data": LETTERS, "sample_size": 7}, error="only 6 entries"),
    Example(inputs={"data": LETTERS, "sample_size": 0}, error="at least 1"),
    Example(
        inputs={"data": LETTERS, "sample_size": 2, "sampling_method": "cluster"}, error="needs `cluster_key`"
    ),
    Example(
        inputs={"data": LETTERS, "sample_size": 2, "sampling_method": "stratified", "stratify_key": "size"},
        error="Entry 0 has no 'size'",
    ),
    Example(
        inputs={"data": [{"w": -1}], "sample_size": 1, "sampling_method": "weighted", "weight_key": "w"},
        error="weights",
    ),
]


@block(
    id="4a448883-71fa-49cf-91cf-70d793bd7d87",
    name="Data Sampling",
    category=Category.LOGIC,
    inputs=Inputs,
    outputs=Outputs,
    examples=EXAMPLES,
    nondeterministic=True,
    sequential=True,
)
def data_sampling(inputs: Inputs, context: BlockContext) -> Emissions:
    """Picks some of many entries by one of eight methods; can gather the data of several runs of the node first."""
    if inputs.sample_size < 1:
        raise BlockFailed("`sample_size` must be at least 1.")
    rows: Rows = [inputs.data] if isinstance(inputs.data, dict) else inputs.data
    if inputs.accumulate:
        gathered = gather(rows, inputs.sample_size, context)
        if gathered is None:
            return
        rows = gathered
    if inputs.sample_size > len(rows):
        raise BlockFailed(
            f"There are only {len(rows)} entries, fewer than `sample_size` {inputs.sample_size}."
        )
    seed = f"seed:{inputs.random_seed}" if inputs.random_seed is not None else context.idempotency_key
    indices = METHODS[inputs.sampling_method](rows, inputs, context.ports.random.generator(seed))
    yield "sampled_data", [rows[index] for index in indices]
    yield "sample_indices", indices


def gather(rows: Rows, needed: int, context: BlockContext) -> Rows | None:
    """Everything gathered so far, or None while it is not enough.

    Keyed by the node run: a second attempt of this run adds nothing twice and finds what it had closed.
    """
    state = context.ports.store.get(StoreScope.NODE, STATE_KEY)
    parts: Object = {} if state is MISSING else state["parts"]
    closed: Object = {} if state is MISSING else state["closed"]
    run = context.node_execution_id
    if run not in closed:
        parts = parts | {run: rows}
        if sum(len(part) for part in parts.values()) < needed:
            context.ports.store.put(StoreScope.NODE, STATE_KEY, {"parts": parts, "closed": closed})
            return None
        closed = {run: parts}
        context.ports.store.put(StoreScope.NODE, STATE_KEY, {"parts": {}, "closed": closed})
    return [row for part in closed[run].values() for row in part]


def pick_random(rows: Rows, inputs: Inputs, dice: random.Random) -> list[int]:
    return dice.sample(range(len(rows)), inputs.sample_size)


def pick_systematic(rows: Rows, inputs: Inputs, dice: random.Random) -> list[int]:
    step = len(rows) // inputs.sample_size
    start = dice.randrange(step)
    return [start + step * count for count in range(inputs.sample_size)]


def pick_top(rows: Rows, inputs: Inputs, dice: random.Random) -> list[int]:
    return list(range(inputs.sample_size))


def pick_bottom(rows: Rows, inputs: Inputs, dice: random.Random) -> list[int]:
    return list(range(len(rows) - inputs.sample_size, len(rows)))


def pick_stratified(rows: Rows, inputs: Inputs, dice: random.Random) -> list[int]:
    """As many of each group as its share, the largest remainders first."""
    groups = list(group(rows, inputs.stratify_key, "stratify_key").values())
    shares = [len(members) * inputs.sample_size / len(rows) for members in groups]
    counts = [int(share) for share in shares]
    by_remainder = sorted(range(len(groups)), key=lambda index: counts[index] - shares[index])
    for index in by_remainder[: inputs.sample_size - sum(counts)]:
        counts[index] += 1
    return [
        chosen
        for members, count in zip(groups, counts, strict=True)
        for chosen in dice.sample(members, count)
    ]


def pick_weighted(rows: Rows, inputs: Inputs, dice: random.Random) -> list[int]:
    """With replacement: a heavy entry may come more than once."""
    weights = [read_key(rows, index, inputs.weight_key, "weight_key") for index in range(len(rows))]
    if any(
        isinstance(weight, bool) or not isinstance(weight, int | float) or weight < 0 for weight in weights
    ):
        raise BlockFailed("The weights must be numbers that are not negative.")
    total = sum(weights)
    if not 0 < total < float("inf"):
        raise BlockFailed("The weights must add up to more than zero, and to a finite number.")
    return dice.choices(range(len(rows)), weights=weights, k=inputs.sample_size)


def pick_reservoir(rows: Rows, inputs: Inputs, dice: random.Random) -> list[int]:
    chosen = list(range(inputs.sample_size))
    for index in range(inputs.sample_size, len(rows)):
        place = dice.randrange(index + 1)
        if place < inputs.sample_size:
            chosen[place] = index
    return chosen


def pick_cluster(rows: Rows, inputs: Inputs, dice: random.Random) -> list[int]:
    """Whole groups in random order until there are enough, the last one cut."""
    clusters = list(group(rows, inputs.cluster_key, "cluster_key").values())
    dice.shuffle(clusters)
    return [index for cluster in clusters for index in cluster][: inputs.sample_size]


METHODS: dict[str, Callable[[Rows, Inputs, random.Random], list[int]]] = {
    "random": pick_random,
    "systematic": pick_systematic,
    "top": pick_top,
    "bottom": pick_bottom,
    "stratified": pick_stratified,
    "weighted": pick_weighted,
    "reservoir": pick_reservoir,
    "cluster": pick_cluster,
}


def group(rows: Rows, key: str | None, pin_name: str) -> dict[Hashable, list[int]]:
    """The indices of the entries by the value of a key."""
    groups: dict[Hashable, list[int]] = defaultdict(list)
    for index in range(len(rows)):
        groups[equality_key(read_key(rows, index, key, pin_name))].append(index)
    return groups


def read_key(rows: Sequence[JSON], index: int, key: str | None, pin_name: str) -> JSON:
    if not key:
        raise BlockFailed(f"This sampling method needs `{pin_name}`.")
    row = rows[index]
    if not isinstance(row, dict) or key not in row:
        raise BlockFailed(f"Entry {index} has no {key!r}, which `{pin_name}` names.")
    return row[key]
