"""Data Sampling: pick a sample of entries."""

import random
from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from typing import Literal

from blocks.base import Category, Emissions, block
from blocks.context import BlockContext
from blocks.errors import BlockFailed
from blocks.examples import Example, World
from blocks.pins import MISSING
from blocks.ports import StoreScope
from blocks.schema import JSON, BlockInputs, BlockOutputs, Boolean, Integer, Integers, Object, Rows, Text, pin
from blocks.support.equality import equality_key

Method = Literal["random", "systematic", "top", "bottom", "stratified", "weighted", "reservoir", "cluster"]
STATE_KEY = "data_sampling"


class Inputs(BlockInputs):
    data: Object | Rows = pin(description="The entries: a list of objects or lists, or a single object.")
    sample_size: Integer = pin(10, description="Number of entries to pick.", advanced=True)
    sampling_method: Method = pin("random", description="Sampling method.", advanced=True)
    accumulate: Boolean = pin(
        False, description="Collect data over several runs before sampling.", advanced=True
    )
    random_seed: Integer | None = pin(None, description="Seed for reproducible samples.", advanced=True)
    stratify_key: Text | None = pin(
        None, description="Key whose distribution is preserved (stratified).", advanced=True
    )
    weight_key: Text | None = pin(
        None, description="Key with the weight of an entry (weighted).", advanced=True
    )
    cluster_key: Text | None = pin(
        None, description="Key with the group of an entry (cluster).", advanced=True
    )


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
        note="nothing is emitted until there is enough data",
    ),
    Example(
        inputs={"data": [{"id": 3}], "sample_size": 3, "accumulate": True, "sampling_method": "top"},
        outputs=[("sampled_data", [{"id": 1}, {"id": 2}, {"id": 3}]), ("sample_indices", [0, 1, 2])],
        note="there is enough data",
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
    outputs=Outputs,
    examples=EXAMPLES,
    nondeterministic=True,
    sequential=True,
)
def data_sampling(inputs: Inputs, context: BlockContext) -> Emissions:
    """Pick a sample of entries by one of eight methods, optionally collecting data over several runs first."""
    if inputs.sample_size < 1:
        raise BlockFailed("`sample_size` must be at least 1.")
    rows: Rows = [inputs.data] if isinstance(inputs.data, dict) else inputs.data
    if inputs.accumulate:
        gathered = gather(rows, inputs.sample_size, context)
        if gathered is None:
            return
        rows = gathered
    if inputs.sample_size > len(rows):
        raise BlockFailed(f"There are only {len(rows)} entries, but `sample_size` is {inputs.sample_size}.")
    seed = f"seed:{inputs.random_seed}" if inputs.random_seed is not None else context.idempotency_key
    indices = METHODS[inputs.sampling_method](rows, inputs, context.ports.random.generator(seed))
    yield "sampled_data", [rows[index] for index in indices]
    yield "sample_indices", indices


def gather(rows: Rows, needed: int, context: BlockContext) -> Rows | None:
    """Return all collected rows, or None until there are enough.

    Keyed by node run: a second attempt adds nothing twice and finds the same rows.
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


def pick_random(rows: Rows, inputs: Inputs, generator: random.Random) -> list[int]:
    return generator.sample(range(len(rows)), inputs.sample_size)


def pick_systematic(rows: Rows, inputs: Inputs, generator: random.Random) -> list[int]:
    step = len(rows) // inputs.sample_size
    start = generator.randrange(step)
    return [start + step * count for count in range(inputs.sample_size)]


def pick_top(rows: Rows, inputs: Inputs, generator: random.Random) -> list[int]:
    return list(range(inputs.sample_size))


def pick_bottom(rows: Rows, inputs: Inputs, generator: random.Random) -> list[int]:
    return list(range(len(rows) - inputs.sample_size, len(rows)))


def pick_stratified(rows: Rows, inputs: Inputs, generator: random.Random) -> list[int]:
    """Pick from each group by its share, rounding up the largest remainders."""
    groups = list(group(rows, inputs.stratify_key, "stratify_key").values())
    shares = [len(members) * inputs.sample_size / len(rows) for members in groups]
    counts = [int(share) for share in shares]
    by_remainder = sorted(range(len(groups)), key=lambda index: counts[index] - shares[index])
    for index in by_remainder[: inputs.sample_size - sum(counts)]:
        counts[index] += 1
    return [
        chosen
        for members, count in zip(groups, counts, strict=True)
        for chosen in generator.sample(members, count)
    ]


def pick_weighted(rows: Rows, inputs: Inputs, generator: random.Random) -> list[int]:
    """Pick with replacement: an entry may occur more than once."""
    weights = [read_key(rows, index, inputs.weight_key, "weight_key") for index in range(len(rows))]
    if any(
        isinstance(weight, bool) or not isinstance(weight, int | float) or weight < 0 for weight in weights
    ):
        raise BlockFailed("The weights must be non-negative numbers.")
    total = sum(weights)
    if not 0 < total < float("inf"):
        raise BlockFailed("The weights must add up to a finite number greater than zero.")
    return generator.choices(range(len(rows)), weights=weights, k=inputs.sample_size)


def pick_reservoir(rows: Rows, inputs: Inputs, generator: random.Random) -> list[int]:
    chosen = list(range(inputs.sample_size))
    for index in range(inputs.sample_size, len(rows)):
        slot = generator.randrange(index + 1)
        if slot < inputs.sample_size:
            chosen[slot] = index
    return chosen


def pick_cluster(rows: Rows, inputs: Inputs, generator: random.Random) -> list[int]:
    """Pick whole groups in random order until there are enough entries; the last group may be cut."""
    clusters = list(group(rows, inputs.cluster_key, "cluster_key").values())
    generator.shuffle(clusters)
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
    """Return the indices of the entries, grouped by the value of a key."""
    groups: dict[Hashable, list[int]] = defaultdict(list)
    for index in range(len(rows)):
        groups[equality_key(read_key(rows, index, key, pin_name))].append(index)
    return groups


def read_key(rows: Sequence[JSON], index: int, key: str | None, pin_name: str) -> JSON:
    if not key:
        raise BlockFailed(f"This sampling method needs `{pin_name}`.")
    row = rows[index]
    if not isinstance(row, dict) or key not in row:
        raise BlockFailed(f"Entry {index} has no {key!r}, but `{pin_name}` requires it.")
    return row[key]
