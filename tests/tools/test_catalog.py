"""The tools that need neither agents nor operations, through the real dispatch."""

from __future__ import annotations

import base64
import json
import tracemalloc
import uuid
from pathlib import Path
from typing import Any

import pytest

from accounts.models import User
from tests.testtools.models import TestEffect
from tests.tools.conftest import Bench, Done, NoArgs, call
from tools import limits, registry
from tools.base import Effect, tool
from tools.context import ToolContext
from tools.dispatch import FinishedCall
from tools.docs_search import DocsIndex, read_page
from tools.models import FeatureRequest, FeatureSupport, ToolCall, Understanding
from workspace import files
from workspace.models import WorkspaceFile

State = ToolCall.State


@pytest.fixture
def other(user: User) -> User:
    return User.objects.create(username="bob")


def good(finished: FinishedCall, kind: str) -> dict[str, Any]:
    assert (finished.state, finished.output["type"]) == (State.SUCCEEDED, kind), finished.output
    assert finished.output["message"] and finished.output["session_id"]
    return finished.output


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("list_workspace_files", {}),
        ("read_workspace_file", {"path": "x"}),
        ("write_workspace_file", {"filename": "x", "content": "y"}),
        ("delete_workspace_file", {"path": "x"}),
        ("add_understanding", {"industry": "bakery"}),
        ("create_feature_request", {"title": "More colours", "description": "Please."}),
        ("search_feature_requests", {"query": "colours"}),
    ],
)
def test_what_needs_an_account_asks_a_visitor_to_log_in(
    transactional_db: None, name: str, arguments: dict[str, Any]
) -> None:
    finished = Bench(user=None).run_one(name, **arguments)
    assert (finished.state, finished.output["type"]) == (State.FAILED, "need_login")


# --- asking and planning ----------------------------------------------------------------------------


def test_questions_are_shown_with_their_options(bench: Bench) -> None:
    questions = [
        {"question": "Which day?", "options": ["Mon", "Tue"], "keyword": "day"},
        {"question": "Why?"},
    ]
    output = good(bench.run_one("ask_question", questions=questions), "clarification_needed")
    assert output["questions"][0] == questions[0]
    assert output["questions"][1] == {"question": "Why?", "options": None, "keyword": None}


@pytest.mark.parametrize("questions", [[], [{"question": ""}], [{"text": "?"}], "Which day?"])
def test_no_question_is_no_call(bench: Bench, questions: Any) -> None:
    assert bench.run_one("ask_question", questions=questions).output["error"] == "invalid_arguments"


def test_a_goal_becomes_numbered_steps(bench: Bench) -> None:
    steps = [{"description": "Read the feed"}, {"description": "Send it", "block_name": "Send Email"}]
    output = good(bench.run_one("decompose_goal", goal="News by mail", steps=steps), "task_decomposition")
    assert [step["number"] for step in output["steps"]] == [1, 2]
    assert (output["step_count"], output["requires_approval"]) == (2, True)


# --- understanding, wishes --------------------------------------------------------------------------


def test_facts_are_kept_merged_and_only_for_their_person(bench: Bench, other: User) -> None:
    good(
        bench.run_one("add_understanding", industry="bakery", software=["Excel", "Xero"]),
        "understanding_updated",
    )
    bench.step = 1
    output = good(
        bench.run_one("add_understanding", industry="cafe", software=["Xero", "Slack"]),
        "understanding_updated",
    )
    assert output["current_understanding"] == {"industry": "cafe", "software": ["Excel", "Xero", "Slack"]}
    assert output["updated_fields"] == ["industry", "software"]
    assert bench.user is not None
    assert Understanding.of(bench.user.pk)["industry"] == "cafe"
    assert Understanding.of(other.pk) == {}


def test_lists_of_facts_do_not_grow_for_ever(bench: Bench) -> None:
    for step in range(4):
        bench.step = step
        bench.run_one("add_understanding", notes=[f"note {step} {number}" for number in range(20)])
    assert bench.user is not None
    notes = Understanding.of(bench.user.pk)["notes"]
    assert len(notes) == limits.MAX_FACTS_PER_TOPIC and notes[-1] == "note 3 19"


@pytest.mark.parametrize("facts", [{}, {"industry": "  "}, {"notes": []}, {"system_prompt": "obey"}])
def test_facts_that_say_nothing_are_refused(bench: Bench, facts: dict[str, Any]) -> None:
    assert bench.run_one("add_understanding", **facts).output["error"] == "invalid_arguments"


def test_a_wish_is_raised_once_and_joined_by_others(bench: Bench, other: User) -> None:
    first = good(
        bench.run_one("create_feature_request", title="Dark mode", description="My eyes."),
        "feature_request_created",
    )
    assert (first["is_new"], first["supporters"]) == (True, 1)
    bench.step = 1
    again = bench.run_one("create_feature_request", title="dark  MODE", description="Really.").output
    assert (again["request_id"], again["supporters"]) == (first["request_id"], 1)
    theirs = (
        Bench(user=other).run_one("create_feature_request", title="Dark mode", description="Mine too.").output
    )
    assert (theirs["is_new"], theirs["supporters"]) == (False, 2)
    assert FeatureRequest.objects.count() == 1 and FeatureSupport.objects.count() == 2


def test_wishes_are_found_despite_typos_and_without_their_people(bench: Bench) -> None:
    bench.run_one("create_feature_request", title="Dark mode for the chat", description="My eyes hurt.")
    bench.step = 1
    output = good(bench.run_one("search_feature_requests", query="chat drak mode"), "feature_request_search")
    assert output["results"][0]["title"] == "Dark mode for the chat"
    assert "lovelace" not in json.dumps(output)
    bench.step = 2
    assert bench.run_one("search_feature_requests", query="quantum teleport").output["type"] == "no_results"
    bench.step = 3
    assert bench.run_one("search_feature_requests", query="x" * 101).output["error"] == "invalid_arguments"


# --- files ------------------------------------------------------------------------------------------


def test_a_file_is_written_listed_read_and_deleted(bench: Bench) -> None:
    output = good(
        bench.run_one("write_workspace_file", filename="notes/may.txt", content="Hello, world"),
        "workspace_file_written",
    )
    file = output["file"]
    assert file["reference"] == f"workspace://{file['file_id']}" and file["path"] == "notes/may.txt"
    bench.step = 1
    listed = good(bench.run_one("list_workspace_files", prefix="notes/"), "workspace_file_list")
    assert [item["path"] for item in listed["files"]] == ["notes/may.txt"] and listed["more"] is False
    for step, which in enumerate(
        [{"file_id": file["file_id"]}, {"file_id": file["reference"]}, {"path": "notes/may.txt"}]
    ):
        bench.step = 2 + step
        read = good(bench.run_one("read_workspace_file", **which), "workspace_file_content")
        assert (read["content"], read["next_offset"]) == ("Hello, world", None)
    bench.step = 6
    good(bench.run_one("delete_workspace_file", path="notes/may.txt"), "workspace_file_deleted")
    assert not WorkspaceFile.objects.exists()
    bench.step = 7
    assert bench.run_one("delete_workspace_file", path="notes/may.txt").output["type"] == "no_results"


def test_a_long_file_is_read_page_by_page_without_breaking_a_character(bench: Bench) -> None:
    text = "añ🙂" * 5000
    assert bench.user is not None
    files.save(bench.user, "long.txt", text.encode())
    offset: int | None = 0
    pieces = []
    while offset is not None:
        bench.step += 1
        page = good(
            bench.run_one("read_workspace_file", path="long.txt", offset=offset, length=4999),
            "workspace_file_content",
        )
        pieces.append(page["content"])
        offset = page["next_offset"]
    assert "".join(pieces) == text


def test_bytes_are_written_as_base64_and_not_read_as_text(bench: Bench) -> None:
    data = b"\x89PNG\r\n\x1a\n\0\0"
    output = good(
        bench.run_one(
            "write_workspace_file", filename="a.png", content_base64=base64.b64encode(data).decode()
        ),
        "workspace_file_written",
    )
    bench.step = 1
    shown = good(bench.run_one("read_workspace_file", path="a.png"), "workspace_file_metadata")
    assert (shown["file"]["media_type"], shown["file"]["size"]) == (output["file"]["media_type"], len(data))
    assert output["file"]["reference"] in shown["next_step"] and "content" not in shown


def test_a_name_that_is_taken_is_not_overwritten_unasked(bench: Bench) -> None:
    bench.run_one("write_workspace_file", filename="a.txt", content="one")
    bench.step = 1
    assert (
        bench.run_one("write_workspace_file", filename="a.txt", content="two").output["error"] == "try_again"
    )
    bench.step = 2
    good(
        bench.run_one("write_workspace_file", filename="a.txt", content="two", overwrite=True),
        "workspace_file_written",
    )
    assert files.read_range(WorkspaceFile.objects.get()) == b"two"


def test_a_write_in_doubt_leaves_one_file(bench: Bench) -> None:
    request = call("write_workspace_file", filename="a.txt", content="one")
    assert bench.user is not None
    files.save(bench.user, "a.txt", b"one", key=bench.key("c1"))
    bench.leave_in_doubt(request, Effect.IDEMPOTENT)
    good(bench.run(request)[0], "workspace_file_written")
    assert WorkspaceFile.objects.count() == 1


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("write_workspace_file", {"filename": "a"}),
        ("write_workspace_file", {"filename": "a", "content": "x", "content_base64": "eA=="}),
        ("read_workspace_file", {}),
        ("read_workspace_file", {"file_id": "x", "path": "y"}),
        ("read_workspace_file", {"path": "y", "offset": -1}),
        ("read_workspace_file", {"path": "y", "length": 10**9}),
    ],
)
def test_file_arguments_that_do_not_fit_together_are_refused(
    bench: Bench, name: str, arguments: dict[str, Any]
) -> None:
    assert bench.run_one(name, **arguments).output["error"] == "invalid_arguments"


def test_damaged_base64_is_refused(bench: Bench) -> None:
    assert (
        bench.run_one("write_workspace_file", filename="a", content_base64="%%%").output["error"]
        == "try_again"
    )


@pytest.mark.parametrize("name", ["read_workspace_file", "delete_workspace_file"])
def test_the_files_of_others_are_as_good_as_not_there(bench: Bench, other: User, name: str) -> None:
    theirs = files.save(other, "secret.txt", b"theirs")
    answers = []
    for step, file_id in enumerate(
        [theirs.reference, f"workspace://{uuid.uuid4()}", "../../etc/passwd", "not an id"]
    ):
        bench.step = step
        finished = bench.run_one(name, file_id=file_id)
        assert finished.output["type"] == "no_results"
        answers.append(finished.output["message"].replace(file_id, "ID"))
    assert len(set(answers)) == 1
    assert WorkspaceFile.objects.filter(pk=theirs.pk).exists()


# --- documentation ----------------------------------------------------------------------------------


PAGES = DocsIndex(
    [
        read_page(
            "run.md",
            "# Running it\n\nStart with `up`.\n\n## Leases\n\nA lease lasts 15 seconds.\n\n```\n# no heading\n```\n",
        ),
        read_page(
            "deep/tools.md", "# Tools\n\nThe model calls tools.\n\n## Adding a tool\n\nWrite a function.\n"
        ),
    ]
)


def test_the_section_that_answers_best_comes_first() -> None:
    assert PAGES.search("how do I add a tool", 5)[0].address == "deep/tools.md#adding-a-tool"
    assert PAGES.search("leese", 5)[0].address == "run.md#leases"
    assert PAGES.search("zebra", 5) == [] and PAGES.search("the of and", 5) == []


def test_a_heading_that_is_a_link_has_the_anchor_of_its_words_and_comments_are_not_text() -> None:
    page = read_page("all.md", "<!-- generated -->\n# Blocks\n\n## [Agent](agent.md)\n\nRuns another.\n")
    assert [(section.title, section.anchor) for section in page.sections] == [
        ("Blocks", "blocks"),
        ("Agent", "agent"),
    ]


def test_a_page_that_is_not_there_is_answered_with_those_of_similar_names() -> None:
    assert PAGES.nearest("docs/tool.md", 1) == ["deep/tools.md"]
    assert PAGES.nearest("running it", 1) == ["run.md"]
    assert len(PAGES.nearest("zebra", 5)) <= 2


def test_code_is_not_taken_for_headings() -> None:
    assert [section.title for section in PAGES.pages["run.md"].sections] == ["Running it", "Leases"]


@pytest.mark.parametrize("path", ["run.md", "run", "docs/run.md", "/run.md"])
def test_a_page_is_found_by_any_form_of_its_path(path: str) -> None:
    page = PAGES.page(path)
    assert page is not None and page.title == "Running it"


@pytest.mark.parametrize("path", ["deep/tools.md", "tools.md", "tools", "docs/tools.md"])
def test_a_page_is_found_by_its_file_name_in_whichever_folder_it_is(path: str) -> None:
    page = PAGES.page(path)
    assert page is not None and page.path == "deep/tools.md"


def test_a_file_name_that_several_pages_have_names_none_of_them() -> None:
    both = DocsIndex([read_page("one/README.md", "# One"), read_page("two/README.md", "# Two")])
    assert both.page("README.md") is None
    assert both.page("two/README.md") is both.pages["two/README.md"]


@pytest.mark.parametrize("path", ["../README.md", "/etc/passwd", "run.md/../../x", ""])
def test_only_pages_of_the_documentation_exist(path: str) -> None:
    assert PAGES.page(path) is None


def test_no_documentation_is_an_empty_index(tmp_path: Path) -> None:
    assert DocsIndex.read(tmp_path / "missing").search("anything", 5) == []


def test_the_documentation_can_be_searched_and_read(bench: Bench) -> None:
    found = good(bench.run_one("search_docs", query="how to add a tool"), "doc_search_results")
    assert any(item["path"].startswith("how-to/add-a-tool.md") for item in found["results"])
    bench.step = 1
    page = good(bench.run_one("get_doc_page", path=found["results"][0]["path"]), "doc_page")
    assert page["content"]
    bench.step = 2
    assert bench.run_one("get_doc_page", path="../conftest.py").output["type"] == "no_results"
    bench.step = 3
    assert bench.run_one("get_doc_page", path="how-to/add-a-tool.md#nothing").output["type"] == "no_results"
    bench.step = 4
    missing = bench.run_one("get_doc_page", path="how-to/add-tools.md").output
    assert missing["type"] == "no_results" and missing["suggestions"][0] == "how-to/add-a-tool.md"


# --- large results, through dispatch and the real workspace ----------------------------------------


def test_the_whole_of_a_large_result_can_be_read_from_the_workspace(bench: Bench) -> None:
    output = good(bench.run_one("test_big_output", items=100_000, characters=3), "test_value")
    assert output["value"]["preview"].startswith("100000 items, first 5")
    assert len(json.dumps(output)) < 2000
    file = WorkspaceFile.objects.get()
    assert file.reference in output["value"]["preview"]
    whole = json.loads(files.read_range(file))
    assert len(whole["value"]) == 100_000 and whole["value"][-1] == {"number": 99_999, "text": "xxx"}
    bench.step = 1
    page = good(
        bench.run_one("read_workspace_file", file_id=file.reference, offset=1000, length=500),
        "workspace_file_content",
    )
    assert len(page["content"]) == 500


def test_ten_thousand_levels_through_dispatch(bench: Bench) -> None:
    output = good(bench.run_one("test_big_output", depth=10_000), "test_value")
    assert "deeper than 50 levels" in json.dumps(output)
    file = WorkspaceFile.objects.get()
    assert files.read_range(file).count(b'"inner"') == 10_000


def test_a_visitor_hears_that_the_rest_is_gone(transactional_db: None) -> None:
    output = Bench(user=None).run_one("test_big_output", characters=50_000).output
    assert "was not saved" in output["value"] and not WorkspaceFile.objects.exists()


def test_a_second_run_of_the_same_call_leaves_one_file(bench: Bench) -> None:
    bench.run_one("test_big_output", characters=50_000)
    ToolCall.objects.update(state=State.STARTED)
    bench.attempt = 2
    bench.run_one("test_big_output", characters=50_000)
    assert WorkspaceFile.objects.count() == 1
    assert not TestEffect.objects.exists()


def test_a_result_of_sixty_megabytes_of_base64_becomes_a_file_and_costs_little_memory(bench: Bench) -> None:
    uri = "data:application/octet-stream;base64," + "QUJD" * 15_000_000

    @tool()
    def photograph(args: NoArgs, context: ToolContext) -> Done:
        """Take a very large picture."""
        return Done(message=uri)

    with registry.override(photograph):
        tracemalloc.start()
        output = bench.run_one("photograph").output
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    file = WorkspaceFile.objects.get()
    assert (output["message"], file.size) == (file.reference, 45_000_000)
    assert peak < 30_000_000
