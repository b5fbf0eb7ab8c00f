"""The launcher in a small copy of the project, with real virtual environments, a real pip and no network."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from copilot_project import bootstrap
from copilot_project.env import ROOT
from tests.copilot_project.launcher.processes import until
from tests.needs import ROOT_USER

MANAGE = "import sys, greeting; print('manage', greeting.WORD, *sys.argv[1:])"
UNREACHABLE = "http://127.0.0.1:9/simple"


@pytest.fixture
def tree() -> Iterator[Path]:
    """The launcher, its bootstrap, and one package to install; in a folder every user may enter."""
    folder = Path(tempfile.mkdtemp(prefix="ratchet-launcher-"))
    folder.chmod(0o755)
    root = folder / "project"
    for name in ("copilot", "copilot_project/bootstrap.py"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, root / name)
    (root / "manage.py").write_text(MANAGE)
    (root / "requirements").mkdir()
    (root / "requirements" / "test.txt").write_text("greeting==1\n")
    (root / "requirements.txt").write_text("greeting==1\n")
    make_wheel(folder / "wheels", "1", "hello")
    make_wheel(folder / "wheels", "2", "moin")
    yield root
    shutil.rmtree(folder)


def make_wheel(folder: Path, version: str, word: str) -> None:
    folder.mkdir(exist_ok=True)
    info = f"greeting-{version}.dist-info"
    with zipfile.ZipFile(folder / f"greeting-{version}-py3-none-any.whl", "w") as wheel:
        wheel.writestr("greeting.py", f"WORD = {word!r}\n")
        wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: greeting\nVersion: {version}\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")


def environment(tree: Path, **changes: str) -> dict[str, str]:
    """An empty HOME, this Python, and the wheels of the test alone: no index, no configuration of the machine."""
    home = tree.parent / "home"
    home.mkdir(exist_ok=True)
    base = {
        "HOME": str(home),
        "PATH": f"{Path(sys.base_prefix) / 'bin'}:/usr/bin:/bin",
        "PIP_CONFIG_FILE": "/dev/null",
        "PIP_NO_INDEX": "1",
        "PIP_FIND_LINKS": str(tree.parent / "wheels"),
        "PIP_RETRIES": "0",
        "UV_NO_CONFIG": "1",
    }
    return base | changes


def launch(tree: Path, *words: str, **changes: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(tree / "copilot"), *words],
        env=environment(tree, **changes),
        capture_output=True,
        text=True,
        timeout=500,
    )


def test_the_first_run_installs_and_the_second_does_not(tree: Path) -> None:
    first = launch(tree, "anything", "--goes", "here")
    assert (first.returncode, first.stdout) == (0, "manage hello anything --goes here\n"), first.stderr
    assert "Creating .venv" in first.stderr and "Installed in" in first.stderr
    second = launch(tree, "again")
    assert (second.returncode, second.stdout, second.stderr) == (0, "manage hello again\n", "")


def test_changed_requirements_are_installed(tree: Path) -> None:
    launch(tree, "x")
    (tree / "requirements.txt").write_text("greeting==2\n")
    changed = launch(tree, "x")
    assert changed.stdout == "manage moin x\n", changed.stderr
    assert "Creating .venv" not in changed.stderr


def test_a_moved_project_goes_on_working(tree: Path) -> None:
    launch(tree, "x")
    moved = tree.rename(tree.with_name("moved"))
    assert launch(moved, "x").stdout == "manage hello x\n"


def test_a_broken_environment_is_made_anew(tree: Path) -> None:
    launch(tree, "x")
    python = tree / ".venv" / "bin" / "python"
    python.unlink()
    python.symlink_to("/no/such/python")
    repaired = launch(tree, "x")
    assert repaired.stdout == "manage hello x\n", repaired.stderr


def test_an_installation_killed_halfway_is_finished_by_the_next_run(tree: Path) -> None:
    process = subprocess.Popen(
        [str(tree / "copilot"), "x"],
        env=environment(tree),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    until(lambda: (tree / ".venv" / "bin" / "python").exists() or process.poll() is not None, "the venv")
    os.killpg(process.pid, signal.SIGKILL)
    process.wait(120)
    assert not (tree / ".venv" / ".copilot-base").exists()
    finished = launch(tree, "x")
    assert finished.stdout == "manage hello x\n", finished.stderr


def test_two_at_once_install_once(tree: Path) -> None:
    pair = [
        subprocess.Popen(
            [str(tree / "copilot"), "x"],
            env=environment(tree),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    results = [process.communicate(timeout=500) for process in pair]
    assert [out for out, _ in results] == ["manage hello x\n"] * 2, results
    assert sum("Creating .venv" in err for _, err in results) == 1


def test_without_network_it_says_so(tree: Path) -> None:
    result = launch(tree, "up", PIP_NO_INDEX="0", PIP_FIND_LINKS="", PIP_INDEX_URL=UNREACHABLE)
    assert result.returncode == 1
    assert "The package index cannot be reached. Check the network." in result.stderr
    assert "Traceback" not in result.stderr


def test_what_was_missing_can_be_had_later(tree: Path) -> None:
    assert launch(tree, "x", PIP_FIND_LINKS="").returncode == 1
    assert launch(tree, "x").stdout == "manage hello x\n"


def test_a_python_that_is_too_old_is_explained(tree: Path) -> None:
    bin_folder = tree.parent / "old"
    bin_folder.mkdir()
    for name in ("sh", "dirname", "readlink", "cat"):
        (bin_folder / name).symlink_to(str(shutil.which(name)))
    old = bin_folder / "python3"
    old.write_text('#!/bin/sh\n[ "$1" = --version ] && echo "Python 3.9.2" && exit 0\nexit 1\n')
    old.chmod(0o755)
    result = launch(tree, "up", PATH=str(bin_folder))
    assert result.returncode == 1
    assert "needs Python 3.11 or newer; found: Python 3.9.2" in result.stderr


def test_no_python_at_all_is_explained(tree: Path) -> None:
    bin_folder = tree.parent / "none"
    bin_folder.mkdir()
    for name in ("sh", "dirname", "readlink", "cat"):
        (bin_folder / name).symlink_to(str(shutil.which(name)))
    result = launch(tree, "up", PATH=str(bin_folder))
    assert result.returncode == 1
    assert "found: no working python3" in result.stderr


def test_a_newer_python_is_found_beside_an_old_one(tree: Path) -> None:
    bin_folder = tree.parent / "mixed"
    bin_folder.mkdir()
    old = bin_folder / "python3"
    old.write_text("#!/bin/sh\nexit 1\n")
    old.chmod(0o755)
    (bin_folder / "python3.12").symlink_to(sys.executable)
    result = launch(tree, "x", PATH=f"{bin_folder}:/usr/bin:/bin")
    assert result.stdout == "manage hello x\n", result.stderr


@ROOT_USER.skip_mark
def test_a_folder_that_cannot_be_written_is_explained(tree: Path) -> None:
    nobody = pwd.getpwnam("nobody")
    result = subprocess.run(
        [str(tree / "copilot"), "up"],
        env=environment(tree, PATH="/usr/bin:/bin"),
        capture_output=True,
        text=True,
        user=nobody.pw_uid,
        group=nobody.pw_gid,
        extra_groups=[],
    )
    if "needs Python 3.11" in result.stderr:
        pytest.skip("the machine's own Python is too old")
    assert result.returncode == 1
    assert "A folder is not writable" in result.stderr
    assert "Traceback" not in result.stderr


def test_help_needs_nothing_installed(tree: Path) -> None:
    result = launch(tree, "--help")
    assert result.returncode == 0
    assert "./copilot COMMAND" in result.stdout
    assert not (tree / ".venv").exists()
    assert launch(tree).returncode == 2


@pytest.mark.parametrize(
    ("output", "meaning"),
    [
        ("error: failed to write: No space left on device (os error 28)", "The disk is full"),
        ("OSError: [Errno 28] No space left on device", "The disk is full"),
        ("error: Read-only file system (os error 30)", "A folder is not writable"),
        ("dns error: failed to lookup address information", "package index cannot be reached"),
        ("Temporary failure in name resolution", "package index cannot be reached"),
        ("invalid peer certificate: UnknownIssuer", "package index cannot be reached"),
        ("x No solution found when resolving dependencies", "do not support this Python"),
        ("something nobody has seen", "could not be installed"),
    ],
)
def test_what_an_installer_says_is_translated(output: str, meaning: str) -> None:
    text = bootstrap.explain(output, "base")
    assert meaning in text
    assert output in text


# --- .env -----------------------------------------------------------------------------------------


def test_settings_come_from_the_file_unless_the_environment_has_them(tree: Path) -> None:
    (tree / ".env").write_text(
        "# a comment\n\nexport COPILOT_MODEL=house/qwen # why\nSITE_URL='https://a.example/#x'\n"
        'GREETING="two\\nlines \\"quoted\\""\nPORT=9000\nDATABASE_URL=postgres://db/x\nEMPTY=\n'
    )
    names = ("COPILOT_MODEL", "SITE_URL", "GREETING", "PORT", "DATABASE_URL", "EMPTY")
    (tree / "manage.py").write_text(f"import os; print([os.environ.get(name) for name in {names!r}])")
    told = launch(tree, "show", PORT="8000", DATABASE_URL="")
    expected = ["house/qwen", "https://a.example/#x", 'two\nlines "quoted"', "8000", "", ""]
    assert told.stdout == f"{expected}\n", told.stderr
    (tree / "tests").mkdir()
    (tree / "tests" / "__main__.py").write_text("import os; print(os.environ.get('COPILOT_MODEL'))")
    assert launch(tree, "test").stdout == "None\n", "no test must reach the servers of a real site"
    (tree / ".env").write_text("PORT=1\nSECRET hunter2\n")
    broken = launch(tree, "show")
    assert broken.returncode == 1 and "line 2: this is not NAME=value" in broken.stderr
    assert "hunter2" not in broken.stderr


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("A=", ""),
        ("A = b", "b"),
        ("A=b c", "b c"),
        ("A=b#c", "b#c"),
        ("A=b #c", "b"),
        ("A=#c", ""),
        ("A='b #c' # d", "b #c"),
        ("A='$HOME\\n'", "$HOME\\n"),
        ('A="b\\"c"', 'b"c'),
        ('A="b\\qc"', "b\\qc"),
        ("A=b=c", "b=c"),
        ('A={"x": 1}', '{"x": 1}'),
    ],
)
def test_a_line_of_the_file_is_read_as_people_write_it(line: str, value: str) -> None:
    assert bootstrap.parse_env_line(line, 1) == ("A", value)


@pytest.mark.parametrize("line", ["A", "1A=b", "A B=c", "=b", "A='b", 'A="b', "A='b'c", "A=b\0c"])
def test_a_line_that_says_nothing_is_refused_without_its_value(line: str) -> None:
    with pytest.raises(bootstrap.BadEnvFile, match="line 7") as refused:
        bootstrap.parse_env_line(line, 7)
    assert not str(refused.value).endswith(line)


@pytest.mark.parametrize("content", [b"A=\xff", b"A=b\n" * 300_000])
def test_a_file_that_is_no_list_of_settings_is_refused(
    content: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bootstrap, "ENV_FILE", tmp_path / ".env")
    (tmp_path / ".env").write_bytes(content)
    with pytest.raises(bootstrap.BadEnvFile):
        bootstrap.load_env_file()
