"""The 23 sample agents of AutoGPT, by their shape: each completes, or says what is missing and where to get it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from pytest_django import Settings

from accounts.models import User
from durable import jobs
from executions.agents import versions
from executions.agents.agent_import import import_agent
from executions.agents.repair import fix_graph
from executions.agents.save import Stored
from executions.agents.validation import Code
from executions.engine import run_attempt
from executions.engine.dependencies import EngineDependencies
from executions.errors import CannotRun
from executions.graph import graph_to_json, parse_graph
from executions.models import Agent, Execution, NodeExecution, Review
from executions.reviews.decisions import decide
from executions.start import start
from tests.blocks.adapters.test_transcripts import ENGLISH, PLAYER, WATCH
from tests.executions.agents.sample_agents import AFTER_REPAIR, COMPLETES, NEEDS, Document
from tests.executions.agents.sample_services import SEARCH_URL, SampleServices, sample_services
from tests.executions.conftest import InlineThreads
from tests.needs import BUBBLEWRAP, require

pytestmark = pytest.mark.django_db
Make = Callable[[], Document]


@pytest.fixture(scope="module")
def running_services(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SampleServices]:
    with sample_services(tmp_path_factory.mktemp("tls")) as services:
        yield services


@pytest.fixture
def services(running_services: SampleServices, settings: Settings, redis_server: object) -> SampleServices:
    settings.SEARCH_URL = SEARCH_URL
    settings.OPENAI_BASE_URL = running_services.model.url
    settings.OPENAI_API_KEY = settings.COPILOT_MODEL = "offline"
    running_services.server.received.clear()
    return running_services


def bring_in(user: User, make: Make) -> Stored:
    return import_agent(user, json.loads(json.dumps(make())))


def run(user: User, agent: Agent, services: SampleServices) -> Execution:
    wanted = versions.get_version(agent).input_schema.get("properties", {})
    inputs = {name: 8 if name == "Input" else "x" for name, pin in wanted.items() if "default" not in pin}
    return work_on(start(user, agent, inputs).execution, services)


def work_on(execution: Execution, services: SampleServices) -> Execution:
    lease = jobs.claim(Execution, execution.pk, owner="a worker of a test")
    assert lease is not None
    run_attempt.run(lease, EngineDependencies(threads=InlineThreads(), http=services.web))
    return Execution.objects.get(pk=execution.pk)


def test_there_are_23_of_them() -> None:
    makers = [*COMPLETES, *AFTER_REPAIR, *NEEDS]
    assert len(makers) == 23 == len({make()["name"] for make in makers})


@pytest.mark.parametrize("make", COMPLETES)
def test_a_sample_whose_blocks_are_here_completes(make: Make, ada: User, services: SampleServices) -> None:
    document = make()
    if document["name"] == "Domain Name Finder":
        require(BUBBLEWRAP)
    stored = bring_in(ada, make)
    assert stored.report.valid, stored.report.errors
    ended = run(ada, stored.agent, services)
    assert ended.status == Execution.COMPLETED, (ended.error, list(NodeExecution.objects.values("error")))
    wanted = {node["input_default"]["name"] for node in document["nodes"] if is_output(node)} - {"Error"}
    assert set(ended.outputs) == wanted and all(ended.outputs.values())


def is_output(node: dict[str, Any]) -> bool:
    return str(node["block_id"]) == "363ae599-353e-4804-937e-b2ee3cef3da4"


def test_what_the_samples_make_is_what_they_were_given(ada: User, services: SampleServices) -> None:
    made = {make.__name__: run(ada, bring_in(ada, make).agent, services).outputs for make in COMPLETES[:10]}
    assert made["calculator"] == {"Output": [42]}
    assert made["email_finder"] == {"Email": ["shop@example.com"]}
    assert made["transcriptions"] == {"Transcripts": [["Words of a video"]]}
    assert {WATCH, PLAYER, ENGLISH, "https://example.com/"} <= set(services.fetched)
    assert any("addresses of videos" in str(asked.body) for asked in services.model.requests)


@pytest.mark.parametrize("make", AFTER_REPAIR)
def test_a_sample_that_a_general_block_mends_asks_before_it_mails_and_says_which_credential_it_lacks(
    make: Make, ada: User, services: SampleServices
) -> None:
    stored = bring_in(ada, make)
    graph, fixes = fix_graph(parse_graph(stored.version.graph))
    assert [fix.message for fix in fixes if fix.code is Code.UNKNOWN_BLOCK] == [
        "Put Send Email in the place of Gmail Send (Google). "
        "It needs a credential with the address and an app password of the mail account."
    ]
    mended = versions.save_graph(stored.agent, graph_to_json(graph))
    assert mended.report.valid, mended.report.errors
    execution = run(ada, mended.agent, services)
    mail = NodeExecution.objects.get(execution=execution, node_id="send")
    assert (mail.status, mail.inputs["to_email"]) == ("WAITING", "reader@example.com")
    decide(Review.objects.get(node_id=mail.pk), approved=True, by=ada)
    ended = work_on(execution, services)
    assert [word for word in ended.outputs["Error"] if "needs a credential for smtp" in word]


@pytest.mark.parametrize("make", NEEDS)
def test_a_sample_with_blocks_that_are_not_here_names_each_once_and_says_where_to_get_it(
    make: Make, ada: User
) -> None:
    stored = bring_in(ada, make)
    assert stored.agent.pk and not stored.report.valid
    graph, _ = fix_graph(parse_graph(stored.version.graph))
    left = versions.save_graph(stored.agent, graph_to_json(graph)).report.errors
    assert [one.message.partition(" is not installed here. ")[0] for one in left] == NEEDS[make]
    assert all("Reach " in one.message and "or ask the operator" in one.message for one in left)
    with pytest.raises(CannotRun) as refused:
        start(ada, stored.agent, {})
    assert NEEDS[make][0] in str(refused.value) and "find_block" not in str(refused.value)


def test_a_folder_of_all_of_them_is_summed_up(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for make in (*COMPLETES, *AFTER_REPAIR, *NEEDS):
        (tmp_path / f"{make.__name__}.json").write_text(json.dumps(make()))
    call_command("check_agents", str(tmp_path))
    assert capsys.readouterr().out.splitlines()[-1] == "12 of 23 agents can run here."
