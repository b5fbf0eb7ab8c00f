"""bash_exec in the real sandbox, where there is one; where there is none it is not offered."""

from __future__ import annotations

import threading

import pytest
from pytest_django import Settings

from accounts.models import User
from boundary import sandbox
from tests.tools.conftest import Bench
from tools import registry
from tools.models import ToolCall
from workspace import files
from workspace.models import WorkspaceFile

needs_sandbox = pytest.mark.skipif(
    bool(sandbox.unavailable_reason()), reason=f"needs a sandbox: {sandbox.unavailable_reason()}"
)


def test_without_a_sandbox_it_is_neither_offered_nor_run(bench: Bench, settings: Settings) -> None:
    settings.SANDBOX = "off"
    assert "bash_exec" not in [spec.name for spec in registry.offered(bench)]
    assert bench.run_one("bash_exec", command="id").output["error"] == "unknown_tool"


@needs_sandbox
def test_a_command_runs_and_its_exit_code_is_told(bench: Bench) -> None:
    output = bench.run_one("bash_exec", command="echo out; echo err >&2; exit 3").output
    assert (output["type"], output["exit_code"]) == ("bash_exec", 3)
    assert (output["stdout"], output["stderr"]) == ("out\n", "err\n")


@needs_sandbox
def test_files_go_in_and_come_out(bench: Bench) -> None:
    assert bench.user is not None
    given = files.save(bench.user, "data/numbers.txt", b"1\n2\n3\n")
    output = bench.run_one(
        "bash_exec", command="paste -sd+ numbers.txt > sum.txt", files=[given.reference]
    ).output
    assert output["exit_code"] == 0, output
    assert [file["path"] for file in output["files"]] == ["bash/sum.txt"]
    made = WorkspaceFile.objects.get(path="bash/sum.txt")
    assert files.read_range(made) == b"1+2+3\n"


@needs_sandbox
def test_the_files_of_others_cannot_be_given(bench: Bench) -> None:
    theirs = files.save(User.objects.create(username="bob"), "secret.txt", b"theirs")
    assert (
        bench.run_one("bash_exec", command="cat secret.txt", files=[theirs.reference]).output["type"]
        == "no_results"
    )


@needs_sandbox
def test_a_long_command_is_cancelled(bench: Bench) -> None:
    threading.Timer(0.5, bench.stop.set).start()
    finished = bench.run_one("bash_exec", command="sleep 60")
    assert finished.state == ToolCall.State.CANCELLED


@needs_sandbox
def test_a_command_over_its_time_is_stopped_and_says_so(bench: Bench) -> None:
    output = bench.run_one("bash_exec", command="echo begun; sleep 60", timeout=1).output
    assert output["timed_out"] is True and output["stdout"] == "begun\n"


@needs_sandbox
def test_the_host_is_not_there(bench: Bench) -> None:
    output = bench.run_one("bash_exec", command="cat /etc/passwd; env; ls /work").output
    assert "root:" not in output["stdout"] and "COPILOT" not in output["stdout"]


@needs_sandbox
def test_a_visitor_must_log_in(transactional_db: None) -> None:
    assert Bench(user=None).run_one("bash_exec", command="id").output["type"] == "need_login"


@pytest.mark.parametrize("given", [-5, 10**9])
def test_the_timeout_is_held_in_its_bounds(given: float) -> None:
    from tools.catalog.bash_exec import Args

    assert 1 <= Args(command="x", timeout=given).timeout <= 120
