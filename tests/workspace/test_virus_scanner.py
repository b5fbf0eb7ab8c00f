"""The virus scanner of uploads: clamd's protocol, its refusals, and that nothing is kept without its word."""

from __future__ import annotations

import io
import socket
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import AbstractBaseUser
from django.core.files.uploadedfile import SimpleUploadedFile
from pytest_django import Settings
from rest_framework.test import APIClient

from copilot_project.env import BadEnvironment, Environment
from copilot_project.ops.checks.deployment import upload_scanner
from tests.workspace.clamd import EICAR, LARGEST, read_stream, running_clamd, scanner_that
from workspace import files, limits
from workspace.errors import FileInfected, FileTooLarge, ScannerUnavailable
from workspace.models import LooseBlob, WorkspaceFile
from workspace.virus_scanner import scanner_version

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def clamd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    with running_clamd(tmp_path_factory.mktemp("clamd") / "c") as addresses:
        yield addresses


@pytest.fixture(autouse=True)
def own_storage(settings: Settings, tmp_path: Path) -> Path:
    location = tmp_path / "files"
    storage = {
        "BACKEND": "django.core.files.storage.FileSystemStorage",
        "OPTIONS": {"location": location},
    }
    settings.STORAGES = {**settings.STORAGES, "default": storage}
    return location


def assert_nothing_is_kept(location: Path) -> None:
    assert not WorkspaceFile.objects.exists() and not LooseBlob.objects.exists()
    assert not [path for path in location.rglob("*") if path.is_file()]


# --- a real clamd ---------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["unix", "tcp"])
def test_a_clean_file_is_saved_and_an_infected_one_is_not(
    clamd: dict[str, str], kind: str, settings: Settings, ada: AbstractBaseUser, own_storage: Path
) -> None:
    settings.COPILOT_UPLOAD_SCANNER = clamd[kind]
    with pytest.raises(FileInfected, match=r"found Eicar-Local\S* in this file"):
        files.save(ada, "letter.txt", EICAR)
    assert_nothing_is_kept(own_storage)
    saved = files.save(ada, "letter.txt", b"hello")
    assert files.read_range(saved) == b"hello"
    assert files.read_range(files.save(ada, "empty.txt", b"")) == b""


def test_what_is_inside_an_archive_is_found(
    clamd: dict[str, str], settings: Settings, ada: AbstractBaseUser
) -> None:
    settings.COPILOT_UPLOAD_SCANNER = clamd["unix"]
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a/b.txt", EICAR)
    with pytest.raises(FileInfected):
        files.save(ada, "all.zip", packed.getvalue())


def test_a_file_that_the_scanner_does_not_take_is_not_saved(
    clamd: dict[str, str], settings: Settings, ada: AbstractBaseUser, own_storage: Path
) -> None:
    """clamd hangs up in the middle; its reason is read all the same."""
    settings.COPILOT_UPLOAD_SCANNER = clamd["unix"]
    with pytest.raises(FileTooLarge, match="scanner does not take files of this size"):
        files.save(ada, "long.bin", bytes(4 * LARGEST))
    assert_nothing_is_kept(own_storage)


def test_an_overwritten_file_keeps_its_content_when_the_new_one_is_infected(
    clamd: dict[str, str], settings: Settings, ada: AbstractBaseUser
) -> None:
    settings.COPILOT_UPLOAD_SCANNER = clamd["unix"]
    kept = files.save(ada, "a.txt", b"mine")
    with pytest.raises(FileInfected):
        files.save(ada, "a.txt", EICAR, overwrite=True)
    kept.refresh_from_db()
    assert files.read_range(kept) == b"mine"


def test_an_upload_is_refused_with_the_name_of_what_was_found(
    clamd: dict[str, str], settings: Settings, ada: AbstractBaseUser
) -> None:
    settings.COPILOT_UPLOAD_SCANNER = clamd["tcp"]
    client = APIClient()
    client.force_authenticate(ada)
    refused = client.post("/api/files", {"file": SimpleUploadedFile("x.txt", EICAR)}, format="multipart")
    assert (refused.status_code, refused.json()["error"]["code"]) == (422, "file_infected")
    assert "Eicar-Local" in refused.json()["error"]["message"]
    assert client.get("/api/files").json()["results"] == []


def test_doctor_says_which_scanner_answers(clamd: dict[str, str], settings: Settings) -> None:
    settings.COPILOT_UPLOAD_SCANNER = clamd["unix"]
    check = upload_scanner()
    assert check.ok and check.message.startswith("ClamAV ")
    assert scanner_version() == check.message


# --- its protocol ---------------------------------------------------------------------------------


def says(words: bytes) -> Callable[[socket.socket], None]:
    def answer(connection: socket.socket) -> None:
        read_stream(connection)
        connection.sendall(words)

    return answer


def test_content_arrives_whole_and_in_order(settings: Settings, ada: AbstractBaseUser) -> None:
    received: list[bytes] = []

    def keep(connection: socket.socket) -> None:
        received.append(read_stream(connection))
        connection.sendall(b"stream: OK\0")

    content = bytes(range(256)) * 1024
    with scanner_that(keep) as settings.COPILOT_UPLOAD_SCANNER:
        saved = files.save(ada, "a.bin", (content[at : at + 1000] for at in range(0, len(content), 1000)))
    assert received == [content] == [files.read_range(saved)]


@pytest.mark.parametrize(
    "words",
    [
        b"",
        b"stream: OKAY\0",
        b"UNKNOWN COMMAND\0",
        b"stream: Can't allocate memory ERROR\0",
        b"\xff\xfe" * 5000,
        b"OK\0",
    ],
)
def test_any_other_answer_is_no_pass(
    words: bytes, settings: Settings, ada: AbstractBaseUser, own_storage: Path
) -> None:
    with (
        scanner_that(says(words)) as settings.COPILOT_UPLOAD_SCANNER,
        pytest.raises(ScannerUnavailable, match="does not answer now"),
    ):
        files.save(ada, "a.txt", b"hello")
    assert_nothing_is_kept(own_storage)


def test_a_scanner_that_hangs_up_is_no_pass(
    settings: Settings, ada: AbstractBaseUser, own_storage: Path
) -> None:
    with (
        scanner_that(lambda connection: None) as settings.COPILOT_UPLOAD_SCANNER,
        pytest.raises(ScannerUnavailable),
    ):
        files.save(ada, "a.bin", bytes(8 * 1024 * 1024))
    assert_nothing_is_kept(own_storage)


def test_a_silent_scanner_is_left_at_the_deadline(
    settings: Settings, ada: AbstractBaseUser, own_storage: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "SCAN_SECONDS", 0.3)

    def listen_only(connection: socket.socket) -> None:
        while connection.recv(65_536):
            pass

    with (
        scanner_that(listen_only) as settings.COPILOT_UPLOAD_SCANNER,
        pytest.raises(ScannerUnavailable),
    ):
        files.save(ada, "a.txt", b"hello")
    assert_nothing_is_kept(own_storage)


def test_the_connection_is_closed_when_the_upload_breaks_off(
    settings: Settings, ada: AbstractBaseUser, own_storage: Path
) -> None:
    ended: list[bytes] = []

    def until_closed(connection: socket.socket) -> None:
        with connection.makefile("rb") as stream:
            ended.append(stream.read())

    def broken() -> Iterator[bytes]:
        yield b"hello"
        raise ConnectionError

    with scanner_that(until_closed) as settings.COPILOT_UPLOAD_SCANNER, pytest.raises(ConnectionError):
        files.save(ada, "a.txt", broken())
    assert_nothing_is_kept(own_storage)


@pytest.mark.parametrize("address", ["unix:///nowhere/clamd.sock", "tcp://127.0.0.1:1"])
def test_without_its_scanner_the_site_takes_no_files_and_says_why(
    address: str, settings: Settings, ada: AbstractBaseUser, own_storage: Path
) -> None:
    settings.COPILOT_UPLOAD_SCANNER = address
    client = APIClient()
    client.force_authenticate(ada)
    refused = client.post("/api/files", {"file": SimpleUploadedFile("x.txt", b"hello")}, format="multipart")
    assert (refused.status_code, refused["Retry-After"]) == (503, "60")
    assert refused.json()["error"]["code"] == "scanner_unavailable"
    assert_nothing_is_kept(own_storage)
    check = upload_scanner()
    assert not check.ok and "COPILOT_UPLOAD_SCANNER" in check.hint
    with pytest.raises(ScannerUnavailable):
        scanner_version()


@pytest.mark.parametrize(
    "address", ["clamd", "unix:/run/x", "http://a:1", "tcp://a", "tcp://a:1/x", "tcp://:1"]
)
def test_an_address_that_cannot_be_used_is_named_at_the_start(address: str) -> None:
    with pytest.raises(BadEnvironment, match="COPILOT_UPLOAD_SCANNER"):
        Environment.read({"COPILOT_UPLOAD_SCANNER": address})


@pytest.mark.parametrize("address", ["unix:///run/clamav/clamd.ctl", "tcp://clamav:3310", "tcp://[::1]:3310"])
def test_an_address_may_be_a_path_or_a_port(address: str) -> None:
    found: Any = Environment.read({"COPILOT_UPLOAD_SCANNER": address})
    assert found.upload_scanner == address
