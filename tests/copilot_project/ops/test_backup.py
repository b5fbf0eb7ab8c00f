"""Backup and restore: into an empty system, from one kind of database into another, and when it must be refused."""

from __future__ import annotations

import json
import shutil
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from copilot_project.ops.backup import archive
from copilot_project.ops.backup.errors import NotABackup, NotEmpty
from tests.fork_server import run_command
from tests.harness import (
    PEOPLE,
    START_SECONDS,
    Stack,
    base_env,
    eventually,
    prepare,
    prepared_sqlite,
    running_stack,
)
from tests.services import new_database

COUNT = """
from accounts.models import User
from chat.models import Turn
print(sorted(User.objects.values_list("username", flat=True)), Turn.objects.count())
"""


def manage(home: Path, *words: str, database_url: str = "", fails: bool = False) -> str:
    environment = base_env(home, database_url, "") | {"REDIS_URL": f"unix://{home}/none.sock"}
    code, said = run_command(words, environment=environment, seconds=START_SECONDS)
    assert bool(code) is fails, said
    return said


def used_home(home: Path) -> Path:
    """A home folder with two people in its database."""
    template, _ = prepared_sqlite()
    shutil.copytree(template, home)
    return home


class RestoredStack(Stack):
    """A stack on a home folder that has its database already."""

    def start(self, *, workers: int = 1, webs: int = 1) -> None:
        self.start_redis()
        self.start_model()
        self.start_web(0)
        self.start_worker(0)
        self.wait_ready(1)


@contextmanager
def two_databases(kind: str) -> Iterator[tuple[str, str]]:
    """One to back up, and an empty one on another machine."""
    if kind == "sqlite":
        yield "", ""
        return
    with new_database() as first, new_database() as second:
        yield first, second


@pytest.mark.timeout(1_200)
@pytest.mark.parametrize("kind", ["sqlite", pytest.param("postgresql", marks=pytest.mark.services)])
def test_a_conversation_goes_on_in_an_empty_system_after_a_restore(short_tmp: Path, kind: str) -> None:
    with two_databases(kind) as (full, empty):
        conversation_goes_on(short_tmp / kind, full, empty)


def conversation_goes_on(place: Path, full: str, empty: str) -> None:
    copy = place / "backup.tar.gz"
    with running_stack(place / "a", database_url=full) as first:
        client = first.client()
        session = client.new_session()
        client.wait(client.send(session, {"steps": [{"text": "Before."}]})["id"])
        upload = client.http.post("/api/files", files={"file": ("note.txt", b"kept for later")})
        assert upload.status_code == 201, upload.text
        held = {"id": "unfinished", "steps": [{"text": "Held.", "gate": "restored"}]}
        unfinished = client.send(client.new_session(), held)
        eventually(lambda: client.turn(unfinished["id"])["status"] == "running", what="the unfinished turn")
        assert "1 files" in manage(first.home, "backup", str(copy), "--with-keys", database_url=full)
        keys = first.keys
    assert copy.stat().st_mode & 0o077 == 0
    manage(place / "b", "restore", str(copy), database_url=empty)
    second = RestoredStack(place / "b", database_url=empty, keys=keys)
    try:
        second.start()
        client = second.client()
        assert client.answer(session)["content"] == "Before."
        turn = client.send(session, {"steps": [{"text": "After."}]})
        assert client.wait(turn["id"])["end_reason"] == "done"
        assert client.answer(session)["content"] == "After."
        content = client.http.get(f"/api/files/{upload.json()['id']}/content", follow_redirects=True)
        assert content.content == b"kept for later"
        second.release("restored")
        taken_over = client.wait(unfinished["id"])
        assert (taken_over["end_reason"], taken_over["attempt"]) == ("done", 2)
    finally:
        second.stop()


def test_keys_are_only_in_a_backup_that_was_asked_for_them(short_tmp: Path) -> None:
    home = used_home(short_tmp / "k")
    plain, with_keys = short_tmp / "plain.tar.gz", short_tmp / "keys.tar.gz"
    assert "does not contain" in manage(home, "backup", str(plain))
    assert "can read every credential" in manage(home, "backup", str(with_keys), "--with-keys")
    secret = (home / "keys" / "secret_key").read_text()
    with tarfile.open(plain) as tar:
        assert archive.KEYS not in tar.getnames()
    with tarfile.open(with_keys) as tar:
        assert json.load(tar.extractfile(archive.KEYS))["secret_key"] == secret  # type: ignore[arg-type]
    manage(short_tmp / "k2", "restore", str(with_keys))
    assert (short_tmp / "k2" / "keys" / "secret_key").read_text() == secret


def test_a_restore_does_not_fall_over_data_unless_told_to(short_tmp: Path) -> None:
    home, copy = used_home(short_tmp / "r"), short_tmp / "r.tar.gz"
    manage(home, "backup", str(copy))
    assert str(NotEmpty()) in manage(home, "restore", str(copy), fails=True)
    assert "Restored" in manage(home, "restore", str(copy), "--replace")
    assert f"{sorted(PEOPLE)} 0" in manage(home, "shell", "--no-imports", "-c", COUNT)


@pytest.mark.parametrize(
    "content", [b"", b"not a tar file", b"\x1f\x8b broken"], ids=["empty", "text", "gzip"]
)
def test_a_file_that_is_no_backup_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x.tar.gz"
    path.write_bytes(content)
    with pytest.raises(NotABackup, match="not a Ratchet backup"):
        archive.unpack(path, tmp_path / "out")


def test_an_archive_that_reaches_out_of_its_folder_is_refused(tmp_path: Path) -> None:
    path, evil = tmp_path / "evil.tar.gz", tmp_path / "evil"
    evil.write_text("x")
    with tarfile.open(path, "w:gz") as tar:
        tar.add(evil, "../outside")
    with pytest.raises(NotABackup):
        archive.unpack(path, tmp_path / "out")
    assert not (tmp_path / "outside").exists()


@pytest.mark.parametrize(
    "kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE], ids=["sym", "hard", "pipe"]
)
def test_an_archive_with_anything_but_files_is_refused(tmp_path: Path, kind: bytes) -> None:
    path = tmp_path / "evil.tar.gz"
    with tarfile.open(path, "w:gz") as tar:
        entry = tarfile.TarInfo("files/x")
        entry.type, entry.linkname = kind, "/etc/passwd"
        tar.addfile(entry)
    with pytest.raises(NotABackup, match="does not belong in a backup"):
        archive.unpack(path, tmp_path / "out")
    assert not (tmp_path / "out" / "files").exists()


@pytest.mark.services
def test_a_backup_of_postgresql_goes_back_into_postgresql(short_tmp: Path, database: str) -> None:
    home, copy = short_tmp / "p", short_tmp / "p.tar.gz"
    prepare(home, database, "")
    assert "database.pgdump" in manage(home, "backup", str(copy), database_url=database)
    manage(home, "shell", "--no-imports", "-c", "from accounts.models import User; User.objects.all().delete()",
           database_url=database)  # fmt: skip
    manage(home, "restore", str(copy), database_url=database)
    assert f"{sorted(PEOPLE)} 0" in manage(home, "shell", "--no-imports", "-c", COUNT, database_url=database)
    assert "kind of database" in manage(short_tmp / "p2", "restore", str(copy), fails=True)


@pytest.mark.services
def test_a_portable_backup_moves_a_system_from_sqlite_to_postgresql(short_tmp: Path, database: str) -> None:
    home, copy = used_home(short_tmp / "m"), short_tmp / "m.tar.gz"
    assert "database.json" in manage(home, "backup", str(copy), "--portable")
    manage(short_tmp / "m2", "restore", str(copy), "--replace", database_url=database)
    found = manage(short_tmp / "m2", "shell", "--no-imports", "-c", COUNT, database_url=database)
    assert f"{sorted(PEOPLE)} 0" in found
