"""The chat UI below its surface: its own unit tests, and prompts that do what they promise."""

from __future__ import annotations

import re

import pytest

from copilot_project.launcher import ui
from copilot_project.web import openapi_page
from llm.offline.conversation import OfflineConversation
from llm.offline.rules import answer
from tests.needs import INTERFACE_PACKAGES, NODE, require

TEST_SECONDS = 180
PROMPTS = (ui.FRONTEND / "src" / "chat" / "prompts.ts").read_text()


@pytest.fixture(scope="module")
def node() -> ui.NodeJs:
    """A Node with the packages."""
    require(NODE, INTERFACE_PACKAGES)
    found = ui.machine_node() or ui.wheel_node()
    assert found is not None
    return found


@pytest.mark.node
def test_unit_tests_of_the_chat_ui_pass(node: ui.NodeJs) -> None:
    node.run("test", folder=ui.FRONTEND, seconds=TEST_SECONDS)


@pytest.mark.node
@pytest.mark.quality
@pytest.mark.parametrize("script", ["lint", "types"])
def test_the_chat_ui_satisfies(node: ui.NodeJs, script: str) -> None:
    node.run("run", script, folder=ui.FRONTEND, seconds=TEST_SECONDS)


@pytest.mark.parametrize("text", re.findall(r"text: '([^']+)'", PROMPTS))
def test_suggested_prompt_is_one_the_offline_model_knows(text: str) -> None:
    reply = answer(OfflineConversation({"messages": [{"role": "user", "content": text}]}))
    assert "I have no rule for that" not in "".join(reply.pieces)


def test_there_are_suggested_prompts() -> None:
    assert len(re.findall(r"text: '", PROMPTS)) >= 4


def test_generated_api_types_are_fresh() -> None:
    written = openapi_page.GENERATED.read_text()
    assert f"// schema: {openapi_page.digest()}\n" in written, (
        "run `npm run api-types` in frontend/ and commit the result"
    )
