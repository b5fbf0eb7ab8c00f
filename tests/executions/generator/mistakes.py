"""What models get wrong when they draw agents: each mistake spoils a right drawing in one way."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from copy import deepcopy
from typing import Any

from blocks.registry import get_registry

Drawn = dict[str, Any]
Mistake = Callable[[Drawn, random.Random], "Drawn | str"]


def wrong_pin(drawn: Drawn, chance: random.Random) -> Drawn:
    """A pin name that is nearly right."""
    link = chance.choice(drawn["links"])
    side = chance.choice(["source_name", "sink_name"])
    link[side] = link[side].replace("_", "") + "s" if "_#_" not in link[side] else link[side].upper()
    return drawn


def invented_pin(drawn: Drawn, chance: random.Random) -> Drawn:
    """A pin name out of thin air: only the model can say what it meant."""
    chance.choice(drawn["links"])["sink_name"] = "payload_data_in"
    return drawn


def no_ids(drawn: Drawn, chance: random.Random) -> Drawn:
    for link in drawn["links"]:
        link.pop("id")
    return drawn


def same_ids(drawn: Drawn, chance: random.Random) -> Drawn:
    for link in drawn["links"]:
        link["id"] = "1"
    return drawn


def names_for_blocks(drawn: Drawn, chance: random.Random) -> Drawn:
    for node in drawn["nodes"]:
        node["block_id"] = get_registry().get(node["block_id"]).name
    return drawn


def invented_block(drawn: Drawn, chance: random.Random) -> Drawn:
    """A block that sounds as if it existed."""
    node = chance.choice(drawn["nodes"][1:-1])
    node["block_id"] = f"Super {get_registry().get(node['block_id']).name} Pro"
    return drawn


def wrong_uuid(drawn: Drawn, chance: random.Random) -> Drawn:
    node = chance.choice(drawn["nodes"])
    node["block_id"] = "12345678" + node["block_id"][8:]
    return drawn


def trailing_commas(drawn: Drawn, chance: random.Random) -> str:
    return json.dumps(drawn, indent=1).replace("\n}", ",\n}").replace("}\n ]", "},\n ]")


def prose_and_fence(drawn: Drawn, chance: random.Random) -> str:
    return f"Sure! Here is your agent:\n```json\n{json.dumps(drawn)}\n```\nLet me know if you like it."


def cut_off(drawn: Drawn, chance: random.Random) -> str:
    text = json.dumps(drawn)
    return text[: len(text) // 2]


def no_json(drawn: Drawn, chance: random.Random) -> str:
    return "I would use an input block, then a step, then an output."


def wrapped(drawn: Drawn, chance: random.Random) -> Drawn:
    return {"agent_json": drawn}


OTHER_NAMES = {"source_id": "from", "sink_id": "to", "source_name": "source_pin", "sink_name": "sink_pin"}


def other_names(drawn: Drawn, chance: random.Random) -> Drawn:
    for link in drawn["links"]:
        for old, new in (
            ("source_id", "from"),
            ("sink_id", "to"),
            ("source_name", "source_pin"),
            ("sink_name", "sink_pin"),
        ):
            link[new] = link.pop(old)
    for node in drawn["nodes"]:
        node["inputs"] = node.pop("input_default")
    return drawn


def no_output_name(drawn: Drawn, chance: random.Random) -> Drawn:
    drawn["nodes"][-1]["input_default"] = {}
    return drawn


def not_static(drawn: Drawn, chance: random.Random) -> Drawn:
    for link in drawn["links"]:
        link["is_static"] = False
    return drawn


def dangling(drawn: Drawn, chance: random.Random) -> Drawn:
    drawn["links"].append({**drawn["links"][0], "id": "more", "sink_id": "nowhere"})
    return drawn


def secrets(drawn: Drawn, chance: random.Random) -> Drawn:
    chance.choice(drawn["nodes"])["input_default"]["api_key"] = "sk-" + "x" * 40
    return drawn


def forgotten_node(drawn: Drawn, chance: random.Random) -> Drawn:
    """The input is not drawn, so what it feeds has nothing."""
    drawn["nodes"] = drawn["nodes"][1:]
    return drawn


MISTAKES: tuple[Mistake, ...] = (
    wrong_pin,
    invented_pin,
    no_ids,
    same_ids,
    names_for_blocks,
    invented_block,
    wrong_uuid,
    trailing_commas,
    prose_and_fence,
    cut_off,
    no_json,
    wrapped,
    other_names,
    no_output_name,
    not_static,
    dangling,
    secrets,
    forgotten_node,
)


def spoil(drawn: Drawn, mistake: Mistake, seed: str) -> Drawn | str:
    return mistake(deepcopy(drawn), random.Random(seed))
