"""Processes of whole-system tests as copies: they end as others do, and take no setting they were not loaded with."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fork_server import NoAnswer, Products, libraries, run_command
from tests.harness import base_env

SECONDS = 180.0


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("copies")


@pytest.fixture(scope="module")
def products(home: Path) -> Iterator[Products]:
    made = Products(home / "fork_server.log")
    yield made
    made.stop()


def environment(home: Path) -> dict[str, str]:
    return base_env(home, "", f"unix://{home}/none.sock")


def test_a_command_answers_with_what_it_said_and_its_exit_code(home: Path) -> None:
    code, said = run_command(["diffsettings"], environment=environment(home), seconds=SECONDS)
    assert code == 0 and str(home) in said
    code, said = run_command(["no_such_command"], environment=environment(home), seconds=SECONDS)
    assert code == 1 and "no_such_command" in said


def test_each_copy_has_the_crash_point_and_the_port_of_its_own(products: Products, home: Path) -> None:
    code = "from django.conf import settings; print(settings.COPILOT_CRASH_AT, settings.SITE_URL)"
    for number in (1, 2):
        own = {"COPILOT_CRASH_AT": f"here:{number}", "PORT": f"{number}"}
        log = home / f"{number}.log"
        words = ["shell", "--no-imports", "-c", code]
        copy = products.start("django", words, environment=environment(home) | own, log=log)
        assert copy.wait(SECONDS) == 0, log.read_text()
        assert f"here:{number} http://127.0.0.1:{number}" in log.read_text()
    assert len(products.servers) == 1


def test_a_copy_that_would_need_other_settings_says_so_and_ends(products: Products, home: Path) -> None:
    [server] = products.servers.values() or [products._server(environment(home))]
    other, log = environment(home) | {"COPILOT_LEASE_SECONDS": "77"}, home / "other.log"
    assert server.start("django", ["check"], environment=other, log=log).wait(SECONDS) == 1
    assert "cannot have other values of COPILOT_LEASE_SECONDS" in log.read_text()


def test_copies_die_with_their_server(home: Path) -> None:
    products = Products(home / "fork_server.log")
    words = ["shell", "--no-imports", "-c", "import time; time.sleep(600)"]
    copy = products.start("django", words, environment=environment(home), log=home / "sleeping.log")
    assert copy.poll() is None
    products.stop()
    assert copy.wait(SECONDS) == -signal.SIGKILL


def test_a_process_whose_libraries_start_threads_is_no_copy(home: Path) -> None:
    assert Products.can_start(environment(home))
    assert not Products.can_start(environment(home) | {"SENTRY_DSN": "http://key@127.0.0.1/1"})


def test_what_the_server_does_not_know_is_refused() -> None:
    with pytest.raises(NoAnswer, match="unknown question 'sing'"):
        libraries().ask("sing")
