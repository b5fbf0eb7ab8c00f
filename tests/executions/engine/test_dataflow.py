"""What follows from what: the rules of links, pins, static values, errors and loops."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from executions import limits
from executions.engine.dataflow import Dataflow, RunEnded, RunKey, replay
from tests.executions.engine.graphs import graph
from tests.executions.engine.pure import by_chance, finish, plan, work
from tests.tiers import examples

IN = ("Agent Input", {"name": "x"})
OUT = ("Agent Output", {"name": "y"})


def outputs(nodes: dict[str, Any], links: list[str], **inputs: Any) -> dict[str, list[Any]]:
    state, _ = finish(plan(graph(nodes, links), inputs))
    assert state.failure is None, state.failure
    return state.outputs


def test_an_output_feeds_every_linked_node() -> None:
    nodes = {"in": IN, "a": OUT, "b": ("Agent Output", {"name": "z"})}
    assert outputs(nodes, ["in.result -> a.value", "in.result -> b.value"], x=5) == {"y": [5], "z": [5]}


def test_a_node_waits_until_all_its_linked_pins_are_filled() -> None:
    nodes = {
        "one": ("Store Value", {"input": 1}),
        "late": ("Step Through Items", {"items": [10]}),
        "sum": ("Calculator", {"operation": "Add"}),
        "out": OUT,
    }
    links = ["one.output -> sum.a", "late.item -> sum.b", "sum.result -> out.value"]
    assert outputs(nodes, links) == {"y": [11]}


def test_a_linked_pin_waits_for_its_link_even_if_the_node_has_a_value_for_it() -> None:
    nodes = {
        "never": ("Condition", {"value1": 1, "operator": "==", "value2": 2, "yes_value": "yes"}),
        "out": ("Agent Output", {"name": "y", "value": "a default"}),
    }
    assert outputs(nodes, ["never.yes_output -> out.value"]) == {}


def test_values_of_one_pin_are_used_in_the_order_they_came_one_per_run() -> None:
    nodes = {
        "items": ("Step Through Items", {"items": [1, 2, 3]}),
        "others": ("Step Through Items", {"items": [10, 20, 30]}),
        "sum": ("Calculator", {"operation": "Add"}),
        "out": OUT,
    }
    links = ["items.item -> sum.a", "others.item -> sum.b", "sum.result -> out.value"]
    assert outputs(nodes, links) == {"y": [11, 22, 33]}


def test_static_values_are_kept_for_every_run() -> None:
    nodes = {
        "in": IN,
        "items": ("Step Through Items", {"items": [1, 2, 3]}),
        "sum": ("Calculator", {"operation": "Add"}),
        "out": OUT,
    }
    links = ["items.item -> sum.a", "in.result -> sum.b", "sum.result -> out.value"]
    assert outputs(nodes, links, x=100) == {"y": [101, 102, 103]}


def test_a_static_value_that_comes_late_is_waited_for() -> None:
    nodes = {
        "items": ("Step Through Items", {"items": [1, 2]}),
        "late": ("Step Through Items", {"items": [7]}),
        "keep": ("Store Value", {}),
        "sum": ("Calculator", {"operation": "Add"}),
        "out": OUT,
    }
    links = [
        "items.item -> sum.a",
        "late.item -> keep.input",
        "keep.output => sum.b",
        "sum.result -> out.value",
    ]
    assert outputs(nodes, links) == {"y": [8, 9]}


def test_a_node_with_only_static_pins_runs_at_each_new_value() -> None:
    nodes = {
        "items": ("Step Through Items", {"items": ["a", "b"]}),
        "keep": ("Store Value", {}),
        "out": OUT,
    }
    assert outputs(nodes, ["items.item -> keep.input", "keep.output => out.value"]) == {"y": ["a", "b"]}


def test_nested_pins_write_into_objects_and_lists_and_read_out_of_them() -> None:
    nodes = {
        "in": IN,
        "dict": ("Create Dictionary", {"values": {"kept": 0}}),
        "list": ("Create List", {}),
        "out": OUT,
        "part": ("Agent Output", {"name": "part"}),
    }
    links = [
        "in.result -> dict.values_#_a key",
        "in.result -> list.values_$_0",
        "dict.dictionary -> out.value",
        "dict.dictionary_#_a key -> part.value",
    ]
    assert outputs(nodes, links, x=3) == {"y": [{"kept": 0, "a key": 3}], "part": [3]}


def test_a_nested_source_that_finds_nothing_carries_nothing() -> None:
    nodes = {"dict": ("Create Dictionary", {"values": {"a": 1}}), "out": OUT}
    assert outputs(nodes, ["dict.dictionary_#_b -> out.value"]) == {}


def test_a_branch_that_emits_nothing_leaves_what_follows_waiting() -> None:
    nodes = {
        "if": (
            "Condition",
            {"value1": 1, "operator": "==", "value2": 1, "yes_value": "yes", "no_value": "no"},
        ),
        "yes": ("Agent Output", {"name": "yes"}),
        "no": ("Agent Output", {"name": "no"}),
    }
    links = ["if.yes_output -> yes.value", "if.no_output -> no.value"]
    assert outputs(nodes, links) == {"yes": ["yes"]}


def test_an_unset_input_leaves_what_follows_waiting() -> None:
    assert outputs({"in": IN, "out": OUT}, ["in.result -> out.value"]) == {}


def test_a_failed_node_fails_the_execution() -> None:
    nodes = {"bad": ("Calculator", {"operation": "Divide", "a": 1, "b": 0}), "out": OUT}
    state, _ = finish(plan(graph(nodes, ["bad.result -> out.value"])))
    assert state.failure is not None
    assert state.failure.node.id == "bad"


def test_a_failed_node_whose_error_is_linked_passes_its_message_on_after_what_it_emitted() -> None:
    nodes = {
        "drip": ("Test Drip", {"count": 5, "fail_at": 2}),
        "items": ("Agent Output", {"name": "items"}),
        "error": ("Agent Output", {"name": "error"}),
    }
    links = ["drip.item -> items.value", "drip.error -> error.value"]
    assert outputs(nodes, links) == {"items": [0, 1], "error": ["There is no more."]}


def test_inputs_that_do_not_fit_are_a_node_error_that_says_which() -> None:
    nodes = {"in": IN, "sum": ("Calculator", {"operation": "Add", "b": 1})}
    state, _ = finish(plan(graph(nodes, ["in.result -> sum.a"]), {"x": "many"}))
    assert state.failure is not None
    assert "'a' of Calculator expects number" in state.failure.error


def test_text_is_coerced_to_the_type_of_the_pin() -> None:
    nodes = {"in": IN, "sum": ("Calculator", {"operation": "Add", "b": "2"}), "out": OUT}
    assert outputs(nodes, ["in.result -> sum.a", "sum.result -> out.value"], x="40") == {"y": [42]}


def gathering(items: list[Any]) -> tuple[dict[str, Any], list[str]]:
    nodes = {
        "items": ("Step Through Items", {"items": items}),
        "none": ("Create List", {"values": []}),
        "all": ("Add To List", {}),
        "out": OUT,
    }
    links = [
        "none.list -> all.list",
        "all.updated_list -> all.list",
        "items.item -> all.entry",
        "all.updated_list -> out.value",
    ]
    return nodes, links


def test_a_loop_gathers_values_one_after_the_other() -> None:
    assert outputs(*gathering([1, 2, 3]))["y"][-1] == [1, 2, 3]


def test_a_loop_that_never_ends_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MAX_NODE_EXECUTIONS", 50)
    nodes = {"start": ("Create List", {"values": []}), "again": ("Add To List", {"entry": 1})}
    links = ["start.list -> again.list", "again.updated_list -> again.list"]
    state, events = finish(plan(graph(nodes, links)))
    assert state.failure is not None
    assert "Check that every loop ends." in state.failure.error
    assert len(events) <= 50


def test_notes_are_not_run_and_nodes_without_links_are() -> None:
    planned = plan(graph({"note": ("Note", {"text": "x"}), "alone": ("Store Value", {"input": 1})}, []))
    assert [key.node_id for key in Dataflow(planned).ready] == ["alone"]


def test_tool_links_are_routed_by_where_they_lead_whatever_they_are_called() -> None:
    nodes = {
        "brain": ("Orchestrator", {"prompt": "Add."}),
        "sum": ("Calculator", {"operation": "Add"}),
    }
    links = ["brain.tools_^_add numbers_~_first -> sum.a", "brain.tools -> sum.b"]
    planned = plan(graph(nodes, links))
    state = Dataflow(planned)
    (brain,) = state.ready
    state.apply(RunEnded(brain, [("tools_^_sum_~_a", 1), ("tools_^_sum_~_b", None)]))
    assert [run.inputs for run in state.ready.values()] == [{"operation": "Add", "a": 1, "b": None}]


def test_an_orchestrator_begins_without_its_loop_and_goes_on_when_all_of_it_has_come_back() -> None:
    nodes = {
        "in": IN,
        "brain": ("Orchestrator", {}),
        "sum": ("Calculator", {"operation": "Add", "b": 1}),
    }
    links = [
        "in.result -> brain.prompt",
        "brain.tools_^_add_~_a -> sum.a",
        "sum.result -> brain.last_tool_output",
        "brain.conversations -> brain.conversation_history",
    ]
    state = Dataflow(plan(graph(nodes, links), {"x": "Add."}))
    state.apply(RunEnded(RunKey("in", 1), [("result", "Add.")]))
    assert [run.inputs for run in state.ready.values()] == [{"prompt": "Add."}]
    state.apply(RunEnded(RunKey("brain", 1), [("tools_^_sum_~_a", 1), ("conversations", ["c"])]))
    assert RunKey("brain", 2) not in state.ready
    state.apply(RunEnded(RunKey("sum", 1), [("result", 2)]))
    assert state.ready[RunKey("brain", 2)].inputs == {
        "prompt": "Add.",
        "last_tool_output": 2,
        "conversation_history": ["c"],
    }


def test_outputs_of_a_node_are_passed_on_in_the_order_its_runs_began() -> None:
    nodes = {"items": ("Step Through Items", {"items": [1, 2, 3]}), "keep": ("Create List", {}), "out": OUT}
    links = ["items.item -> keep.values_$_0", "keep.list -> out.value"]
    planned = plan(graph(nodes, links))
    state = Dataflow(planned)
    state.apply(RunEnded(RunKey("items", 1), work(planned, state.ready[RunKey("items", 1)])[0]))
    for number in (3, 2):
        state.apply(RunEnded(RunKey("keep", number), [("list", [number])]))
        assert not any(key.node_id == "out" for key in state.ready)
    state.apply(RunEnded(RunKey("keep", 1), [("list", [1])]))
    assert [run.inputs["value"] for run in state.ready.values()] == [[1], [2], [3]]


# --- any order, any crash -----------------------------------------------------------------------


def diamond(width: int, items: int) -> tuple[dict[str, Any], list[str]]:
    """An input, a list of items, `width` branches over each item, all gathered in a loop."""
    nodes, links = gathering([])
    nodes["items"] = ("Step Through Items", {})
    nodes |= {"in": ("Agent Input", {"name": "items"}), "plus": ("Agent Input", {"name": "plus"})}
    links = [link for link in links if not link.startswith("items.")] + ["in.result -> items.items"]
    for number in range(width):
        nodes[f"add{number}"] = ("Calculator", {"operation": "Add"})
        nodes[f"out{number}"] = ("Agent Output", {"name": f"branch{number}"})
        links += [
            f"items.item -> add{number}.a",
            f"plus.result -> add{number}.b",
            f"add{number}.result -> out{number}.value",
        ]
    return nodes, [*links, "add0.result -> all.entry"]


@settings(max_examples=examples(60), deadline=None)
@given(
    seed=st.integers(0, 10**6),
    width=st.integers(1, 3),
    items=st.lists(st.integers(-9, 9), max_size=6),
    crash_every=st.integers(0, 7),
    early=st.booleans(),
)
def test_any_order_of_ends_and_a_crash_after_any_commit_give_the_same_outputs(
    seed: int, width: int, items: list[int], crash_every: int, early: bool
) -> None:
    planned = plan(graph(*diamond(width, len(items))), {"items": items, "plus": 100})
    expected, plain_events = finish(planned)
    state, events = finish(planned, by_chance(seed), crash_every=crash_every, early=early)
    assert state.outputs == expected.outputs
    assert expected.outputs.get("branch0", []) == [item + 100 for item in items]
    ends = [event.key for event in events if isinstance(event, RunEnded)]
    assert len(ends) == len(set(ends)) == len(plain_events)


@settings(max_examples=examples(30), deadline=None)
@given(seed=st.integers(0, 10**6), cut=st.integers(0, 60))
def test_replaying_a_part_of_the_events_gives_the_state_that_was(seed: int, cut: int) -> None:
    planned = plan(graph(*diamond(2, 3)), {"items": [1, 2, 3], "plus": 5})
    _, events = finish(planned, by_chance(seed))
    kept = events[:cut]
    live = Dataflow(planned)
    for event in kept:
        live.apply(event)
    again = replay(planned, kept)
    assert again.ready == live.ready
    assert again.outputs == live.outputs
