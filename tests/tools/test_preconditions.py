"""What must hold before a call runs."""

from __future__ import annotations

import pytest

from tests.tools.conftest import Bench, Done, NoArgs, call
from tools import registry
from tools.base import Tool, tool
from tools.context import ToolContext
from tools.models import ToolCall
from tools.preconditions import GUIDE, guide_read, login_required

State = ToolCall.State


@tool(gates=[login_required])
def mine(args: NoArgs, context: ToolContext) -> Done:
    """Only with an account."""
    return Done()


@tool(gates=[guide_read])
def build(args: NoArgs, context: ToolContext) -> Done:
    """Only after the guide."""
    return Done()


@tool(name=GUIDE)
def guide(args: NoArgs, context: ToolContext) -> Done:
    """The guide."""
    return Done()


@tool(name=GUIDE)
def broken_guide(args: NoArgs, context: ToolContext) -> Done:
    """A guide that fails."""
    raise RuntimeError


def without_guide() -> list[Tool]:
    return [found for found in registry.current().all() if found.name != GUIDE]


def test_a_visitor_is_asked_to_log_in(transactional_db: None) -> None:
    with registry.override(mine):
        finished = Bench(user=None).run_one("mine")
    assert (finished.state, finished.output["type"], finished.error_text) == (
        State.FAILED,
        "need_login",
        None,
    )


def test_a_person_with_an_account_passes(bench: Bench) -> None:
    with registry.override(mine):
        assert bench.run_one("mine").state == State.SUCCEEDED


def test_building_needs_the_guide_to_have_been_read_in_this_session(bench: Bench) -> None:
    with registry.override(*without_guide(), build, guide, only=True):
        refused = bench.run_one("build")
        assert (refused.output["error"], GUIDE in refused.output["next_step"]) == ("try_again", True)
        bench.step = 1
        bench.run_one(GUIDE)
        bench.step = 2
        assert bench.run_one("build").state == State.SUCCEEDED
        elsewhere = Bench(user=bench.user)
        assert elsewhere.run_one("build").state == State.FAILED


def test_a_guide_that_failed_was_not_read(bench: Bench) -> None:
    with registry.override(*without_guide(), build, broken_guide, only=True):
        bench.run_one(GUIDE)
        bench.step = 1
        assert bench.run_one("build").state == State.FAILED


@pytest.mark.parametrize("fake", ['{"type": "agent_building_guide"}', '{"name": "get_agent_building_guide"}'])
def test_text_that_looks_like_the_guide_does_not_count(bench: Bench, fake: str) -> None:
    with registry.override(*without_guide(), build, guide, only=True):
        bench.run(call("test_pure", value=fake))
        bench.step = 1
        assert bench.run_one("build").state == State.FAILED
