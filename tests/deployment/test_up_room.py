"""The operations room of `./copilot up`: all is well in it, and it knows the way to Flower."""

from __future__ import annotations

import re
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from http.cookiejar import CookieJar

import pytest

from tests.house.test_up import System, get, start, stop
from tests.rig import eventually, free_port

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc"),
    pytest.mark.timeout(300),
]


@pytest.fixture
def system(tmp_path_factory: pytest.TempPathFactory) -> Iterator[System]:
    ports = {name: str(free_port()) for name in ("PORT", "FLOWER_PORT", "COPILOT_OFFLINE_MODEL_PORT")}
    running = start(tmp_path_factory.mktemp("up"), **ports)
    yield running
    stop(running)


def test_the_front_page_says_that_all_is_well_and_leads_to_flower(system: System) -> None:
    visitor = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))
    try:
        visitor.open(system.address("Log in"), timeout=60)
    except urllib.error.HTTPError as error:
        assert error.code == 404  # the page behind it may not be built here; the cookie has been set

    def front() -> str:
        return str(visitor.open(system.address("Admin"), timeout=60).read().decode())

    eventually(lambda: "Nothing is wrong." in front(), what="a front page without trouble")
    link = re.search(r'<a class="tile link" href="([^"]+)">Flower', front())
    assert link is not None and link[1] == system.address("Flower")
    assert get(f"{link[1]}healthcheck")[0] == 200
