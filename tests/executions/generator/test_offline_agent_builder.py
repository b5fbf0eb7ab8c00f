"""The offline model builds agents that can run, for every goal its documentation names."""

from __future__ import annotations

import pytest

from executions.agents.diff import compare
from executions.generator.build import build
from executions.generator.requests import AgentRequest, BetterGoal, Built, ClarifyingQuestions
from executions.graph import Graph
from llm.offline.agent_builder.edits import EDITS
from llm.offline.agent_builder.recipes import RECIPES
from tests.executions.generator.askers import OfflineAsker, Shop

EXAMPLES = [recipe.example for recipe in RECIPES]


def built(shop: Shop, goal: str, context: str = "", base: Graph | None = None) -> Graph:
    made = build(AgentRequest(goal=goal, context=context, base=base), shop.with_asker(OfflineAsker()))
    assert isinstance(made, Built), made
    return made.graph


@pytest.mark.django_db
@pytest.mark.parametrize("goal", EXAMPLES)
def test_each_documented_goal_becomes_an_agent_that_can_run_without_a_repair(shop: Shop, goal: str) -> None:
    made = build(AgentRequest(goal=goal), shop.with_asker(OfflineAsker()))
    assert isinstance(made, Built), made
    assert made.report.valid
    assert (made.rounds, [fix.message for fix in made.fixes]) == (0, [])
    assert made.graph.name and made.graph.description


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.name)
def test_each_example_is_recognised_by_its_own_recipe(recipe: object) -> None:
    from llm.offline.agent_builder.recipes import find_recipe

    assert find_recipe(recipe.example) is recipe  # type: ignore[attr-defined]


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("goal", "keyword", "answer"),
    [
        ("makes a daily digest", "feed", "https://example.com/feed.xml"),
        ("translates a text", "language", "into French please"),
        ("calculates with two numbers", "operation", "multiply them"),
        ("fills a letter template", "template", "Dear {{name}}, welcome."),
    ],
)
def test_a_goal_that_lacks_something_is_asked_about_and_then_built(
    shop: Shop, goal: str, keyword: str, answer: str
) -> None:
    asked = build(AgentRequest(goal=goal), shop.with_asker(OfflineAsker()))
    assert isinstance(asked, ClarifyingQuestions)
    assert [question.keyword for question in asked.questions] == [keyword]
    assert built(shop, goal, context=answer).nodes


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("goal", "kind"),
    [("helps me", "vague"), ("do something useful", "vague"), ("makes coffee", "unachievable")],
)
def test_a_vague_or_impossible_goal_gets_a_better_one(shop: Shop, goal: str, kind: str) -> None:
    suggested = build(AgentRequest(goal=goal), shop.with_asker(OfflineAsker()))
    assert isinstance(suggested, BetterGoal)
    assert (suggested.kind, bool(suggested.goal), bool(suggested.reason)) == (kind, True, True)


@pytest.mark.django_db
@pytest.mark.parametrize("edit", [edit.example for edit in EDITS if edit.name != "Remove an output"])
def test_each_documented_edit_changes_nothing_else(shop: Shop, edit: str) -> None:
    before = built(shop, "summarises a web page")
    after = built(shop, edit, base=before)
    difference = compare(before, after)
    assert difference
    assert not difference.nodes.changed and not difference.nodes.removed


@pytest.mark.django_db
def test_counting_the_words_as_well_adds_two_nodes_and_two_links(shop: Shop) -> None:
    before = built(shop, "summarises a web page")
    after = built(shop, "also count the words", base=before)
    difference = compare(before, after)
    assert (len(difference.nodes.added), len(difference.links.added)) == (2, 2)
    assert not difference.links.removed and not difference.links.changed and not difference.graph
    trimmed = built(shop, "remove the output word_count", base=after)
    assert len(compare(after, trimmed).nodes.removed) == 1


@pytest.mark.django_db
def test_a_person_is_put_before_the_output_when_the_goal_says_so(shop: Shop) -> None:
    graph = built(shop, "greets people by name but asks me first")
    assert any(link.source_name == "approved_data" for link in graph.links)


@pytest.mark.django_db
def test_a_change_it_does_not_know_is_asked_about_honestly(shop: Shop) -> None:
    before = built(shop, "greets people by name")
    asked = build(AgentRequest(goal="paint it blue", base=before), shop.with_asker(OfflineAsker()))
    assert isinstance(asked, ClarifyingQuestions)
    assert "also count the words" in asked.questions[0].question
