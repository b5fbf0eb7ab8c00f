"""Forty goals through the generator against a model that makes typical mistakes."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from executions import limits
from executions.agents.validation import Scope
from executions.generator.build import build
from executions.generator.errors import BadDraft, NotBuilt
from executions.generator.json_answers import read_object
from executions.generator.patch import change_graph
from executions.generator.requests import AgentRequest, Built
from executions.graph import parse_graph
from tests.executions.generator.askers import Scripted, Shop
from tests.executions.generator.goals import GOALS, Goal
from tests.executions.generator.mistakes import MISTAKES, Mistake, invented_block, spoil

PLAN = {"type": "instructions", "steps": ["Do it"]}
ENOUGH = 0.9


def attempt(shop: Shop, goal: Goal, *drawn: Any) -> Built | None:
    try:
        made = build(AgentRequest(goal=goal.words), shop.with_asker(Scripted([PLAN, *drawn])))
    except NotBuilt:
        return None
    return made if isinstance(made, Built) else None


def test_there_are_forty_goals() -> None:
    assert len({goal.words for goal in GOALS}) == 40


@pytest.mark.django_db
def test_every_right_drawing_is_taken_as_it_is(shop: Shop) -> None:
    refused = [
        goal.words for goal in GOALS if (made := attempt(shop, goal, goal.draw())) is None or made.rounds
    ]
    assert refused == []


@pytest.mark.django_db
def test_nine_of_ten_spoilt_drawings_are_saved(shop: Shop) -> None:
    """Each goal with each mistake; told what is wrong, the model makes another mistake before it gets it right."""
    tried = [(goal, mistake) for goal in GOALS for mistake in MISTAKES]
    lost = [(goal.words, mistake.__name__) for goal, mistake in tried if not is_saved(shop, goal, mistake)]
    print(f"{len(tried) - len(lost)} of {len(tried)} saved; lost: {lost}")
    assert len(tried) - len(lost) >= ENOUGH * len(tried)


def is_saved(shop: Shop, goal: Goal, mistake: Mistake) -> bool:
    """Whether an agent came out that can run and is made of the blocks it should be made of."""
    seed = f"{goal.words} {mistake.__name__}"
    other = random.Random(seed).choice(MISTAKES)
    right = goal.draw()
    made = attempt(shop, goal, spoil(right, mistake, seed), spoil(right, other, seed), right)
    if made is None:
        return False
    wanted = {node["block_id"] for node in right["nodes"]}
    return wanted <= {node.block_id for node in made.graph.nodes}


@pytest.mark.django_db
def test_most_mistakes_need_no_second_question(shop: Shop) -> None:
    """What can be mended without guessing is mended without the model."""
    alone = [
        mistake.__name__
        for mistake in MISTAKES
        if (made := attempt(shop, GOALS[0], spoil(GOALS[0].draw(), mistake, "seed"))) and not made.rounds
    ]
    assert len(alone) >= 10, alone


@pytest.mark.django_db
def test_the_model_is_told_each_problem_and_which_blocks_come_near(shop: Shop) -> None:
    asker = Scripted([PLAN, spoil(GOALS[0].draw(), invented_block, "seed"), GOALS[0].draw()])
    made = build(AgentRequest(goal=GOALS[0].words), shop.with_asker(asker))
    assert isinstance(made, Built) and made.rounds == 1
    told = asker.asked[2][-1]["content"]
    assert "Super" in told and "Blocks near" in told and "whole corrected JSON" in told


@pytest.mark.django_db
def test_after_a_few_rounds_it_gives_up_with_the_last_draft(shop: Shop) -> None:
    asker = Scripted([PLAN, spoil(GOALS[0].draw(), invented_block, "seed")])
    with pytest.raises(NotBuilt) as failed:
        build(AgentRequest(goal=GOALS[0].words), shop.with_asker(asker))
    assert len(asker.asked) == 2 + limits.MAX_REPAIR_ROUNDS
    assert failed.value.draft is not None and failed.value.problems


@pytest.mark.django_db
def test_a_plan_that_cannot_be_read_is_no_reason_to_stop(shop: Shop) -> None:
    made = build(AgentRequest(goal="x"), shop.with_asker(Scripted(["no plan", GOALS[0].draw()])))
    assert isinstance(made, Built)


@pytest.mark.django_db
def test_blocks_that_may_not_be_used_are_not_built_with(shop: Shop) -> None:
    scope = Scope(may_use=lambda block: block.name != "AI Text Summarizer")
    asker = Scripted([PLAN, GOALS[0].draw()])
    with pytest.raises(NotBuilt):
        build(AgentRequest(goal=GOALS[0].words), shop.with_asker(asker, scope))
    assert "AI Text Summarizer |" not in asker.asked[1][0]["content"]


# --- patches ----------------------------------------------------------------------------------------


def test_a_patch_touches_only_what_it_names() -> None:
    base = parse_graph(GOALS[0].draw())
    changed = change_graph(base, {"update_nodes": [{"id": "step0", "input_default": {"raw_content": True}}]})
    assert [a == b for a, b in zip(base.nodes, changed.nodes, strict=True)].count(False) == 1
    assert changed.links == base.links


@pytest.mark.parametrize(
    ("patch", "words"),
    [
        ({"remove_nodes": ["nobody"]}, "is not a node of the agent"),
        ({"add_nodes": [{"id": "in", "block_id": "x"}]}, "is taken"),
        ({"nodes": []}, "no `nodes`"),
    ],
    ids=["unknown", "taken", "empty"],
)
def test_a_patch_that_makes_no_sense_is_told_to_the_model(patch: dict[str, Any], words: str) -> None:
    with pytest.raises(BadDraft) as refused:
        change_graph(parse_graph(GOALS[0].draw()), patch)
    assert words in str(refused.value)


def test_links_of_a_removed_node_go_with_it_and_null_takes_a_value_away() -> None:
    base = parse_graph(GOALS[10].draw())
    changed = change_graph(
        base, {"remove_nodes": ["in"], "update_nodes": [{"id": "step0", "input_default": {"format": None}}]}
    )
    assert [link.source_id for link in changed.links] == ["step0"]
    node = changed.node("step0")
    assert node is not None and node.input_default == {}


@pytest.mark.parametrize("text", ["", "no", "[1, 2]", "{", "{}", json.dumps({"a": 1})[:-1]], ids=str)
def test_an_answer_without_an_object_is_refused(text: str) -> None:
    with pytest.raises(BadDraft):
        read_object(text)
