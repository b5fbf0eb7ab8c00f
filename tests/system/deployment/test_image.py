"""The image as far as it can be tried without an engine: its roles as user 10001, root read-only, no capability."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.harness import ROOT, Reader, eventually
from tests.needs import BUBBLEWRAP, ROOT_USER, require
from tests.system.deployment.roles import Deployment, running

pytestmark = [pytest.mark.services, pytest.mark.timeout(600)]
USER = 10001  # as in docker/Dockerfile
ROLES = ("web", "worker", "operations", "executions", "beat", "completions")


@dataclass
class Boxed(Deployment):
    """A deployment whose roles run as compose runs them: all is read-only but /tmp and the home folder."""

    def role_command(self, *words: str) -> list[str]:
        """Root makes the box and becomes the user inside it."""
        read = [
            ROOT,
            Path(os.path.realpath(sys.prefix)),
            Path(os.path.realpath(sys.executable)).parent.parent,
        ]
        return [
            *(
                "bwrap",
                "--ro-bind",
                "/",
                "/",
                "--dev",
                "/dev",
                "--proc",
                "/proc",
                "--unshare-pid",
                "--die-with-parent",
            ),
            *("--tmpfs", "/root", "--perms", "1777", "--tmpfs", "/tmp"),
            *[word for path in read for word in (*way_to(path), "--ro-bind", str(path), str(path))],
            *(*way_to(self.home), "--bind", str(self.home), str(self.home)),
            *("setpriv", "--reuid", str(USER), "--regid", str(USER), "--clear-groups", "--no-new-privs"),
            *("--bounding-set", "-all", "--inh-caps", "-all"),
            *super().role_command(*words),
        ]

    def start_redis(self) -> None:
        super().start_redis()
        for path in (self.home, self.socket):
            os.chown(path, USER, USER)


def way_to(path: Path) -> list[str]:
    """The folders above it, where the box has new ones: its maker would keep them to himself."""
    above = [folder for folder in reversed(path.parents) if str(folder).startswith(("/tmp/", "/root/"))]
    return [word for folder in above for word in ("--perms", "0755", "--dir", str(folder))]


@pytest.fixture(scope="module")
def boxed(short_tmp: Path, database: str, broker: str) -> Iterator[Boxed]:
    require(ROOT_USER, BUBBLEWRAP)
    database = database.replace("//127", "//root@127")  # the user of the box has no name
    deployment = Boxed(short_tmp / "b", database_url=database, broker_url=broker, lease_seconds=9.0)
    short_tmp.chmod(0o755)
    with running(deployment, ROLES[1:]):
        yield deployment


def test_the_roles_answer_a_turn_without_writing_outside_their_volume(boxed: Boxed) -> None:
    client = boxed.through_proxy()
    session = client.new_session()
    turn = client.send(session, {"steps": [{"text": "From the box."}]})
    assert Reader(client, turn["id"]).read_to_end().text == "From the box."
    upload = client.http.post("/api/files", files={"file": ("note.txt", b"on the volume")})
    assert upload.status_code == 201, upload.text


@pytest.mark.parametrize("role", ROLES)
def test_every_role_gives_signs_of_life_from_inside(boxed: Boxed, role: str) -> None:
    name = next(name for name, found in boxed.live.items() if found == role)
    eventually(lambda: boxed.health(name) == 0, what=f"a sign of life of {role}")


TRY = """
import os
said = dict(line.split(":\\t", 1) for line in open("/proc/self/status").read().splitlines() if ":\\t" in line)
print(said["Uid"].split()[0], int(said["CapEff"], 16), int(said["CapBnd"], 16), said["NoNewPrivs"])
for folder in {folders}:
    try:
        open(os.path.join(folder, "written"), "w").close()
        print(folder)
    except OSError:
        pass
"""


def test_the_box_is_as_tight_as_compose_makes_it(boxed: Boxed) -> None:
    places = [str(ROOT), str(ROOT / "docker"), "/", "/etc", "/usr", str(boxed.home), "/tmp"]
    script = TRY.format(folders=places).strip()
    result = subprocess.run(
        boxed.role_command("shell", "--no-imports", "-c", script),
        env=boxed.role_environment(),
        capture_output=True,
        text=True,
        timeout=500,
        check=True,
    )
    assert result.stdout.splitlines() == [f"{USER} 0 0 1", str(boxed.home), "/tmp"]
