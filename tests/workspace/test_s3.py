"""The workspace on S3: a real server that speaks its protocol, in a process of its own."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from django.contrib.auth.models import AbstractBaseUser
from django.core.files.storage import default_storage
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from pytest_django import DjangoCaptureOnCommitCallbacks, Settings

from accounts.models import User
from copilot_project.launcher import die_with_parent
from tests.harness import free_port
from workspace import files, limits
from workspace.blobs import purge_deleted
from workspace.errors import ContentGone, QuotaExceeded
from workspace.models import LooseBlob, WorkspaceFile

pytestmark = pytest.mark.django_db
BUCKET = "ratchet"
KEYS = {"access_key": "testing", "secret_key": "testing", "region_name": "us-east-1"}
START_SECONDS = 60.0
PARTS_BYTES = 9 * 1024 * 1024  # more than S3's library sends in one piece


@pytest.fixture(scope="module")
def s3() -> Iterator[str]:
    """The address of the server, with an empty bucket in it."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    server = subprocess.Popen(
        [sys.executable, die_with_parent.__file__, str(os.getpid()), *command],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        wait_for(url, server)
        bucket(url).create()
        yield url
    finally:
        server.kill()
        server.wait()


def wait_for(url: str, server: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        assert server.poll() is None, "the S3 server did not start"
        try:
            urllib.request.urlopen(url, timeout=1).close()
        except urllib.error.HTTPError:
            return
        except OSError:
            time.sleep(0.05)
            continue
        return
    raise AssertionError("the S3 server does not answer")


def bucket(url: str) -> Any:
    names = {
        "aws_access_key_id": KEYS["access_key"],
        "aws_secret_access_key": KEYS["secret_key"],
        "region_name": KEYS["region_name"],
    }
    return boto3.resource("s3", endpoint_url=url, **names).Bucket(BUCKET)


@pytest.fixture(autouse=True)
def on_s3(s3: str, settings: Settings) -> Iterator[None]:
    """As docs/reference/workspace.md says it is set up."""
    settings.STORAGES = storages(settings, s3)
    yield
    bucket(s3).objects.all().delete()


def storages(settings: Settings, url: str) -> dict[str, Any]:
    options = {"bucket_name": BUCKET, "endpoint_url": url, "querystring_auth": True, **KEYS}
    return {
        **settings.STORAGES,
        "default": {"BACKEND": "storages.backends.s3.S3Storage", "OPTIONS": options},
    }


def stored(url: str) -> set[str]:
    return {item.key for item in bucket(url).objects.all()}


@pytest.fixture
def api(ada: AbstractBaseUser) -> Client:
    assert isinstance(ada, User)
    client = Client()
    client.force_login(ada)
    return client


def test_a_file_is_written_to_the_bucket_and_read_back(ada: AbstractBaseUser, s3: str) -> None:
    file = files.save(ada, "notes/a.txt", b"hello")
    assert stored(s3) == {file.blob}
    assert bucket(s3).Object(file.blob).get()["Body"].read() == b"hello"
    with files.open_file(file) as content:
        assert content.read() == b"hello"
    assert (file.size, file.media_type) == (5, "text/plain")
    assert not LooseBlob.objects.exists()


def test_a_file_of_many_parts_arrives_whole(ada: AbstractBaseUser) -> None:
    piece = os.urandom(1024 * 1024)
    file = files.save(ada, "big.bin", (piece for _ in range(PARTS_BYTES // len(piece))))
    assert file.size == PARTS_BYTES
    with files.open_file(file) as content:
        digest = hashlib.sha256(content.read()).hexdigest()
    assert digest == file.sha256 == hashlib.sha256(piece * (PARTS_BYTES // len(piece))).hexdigest()


def test_an_upload_over_the_api_is_served_whole_and_in_ranges(api: Client, s3: str) -> None:
    sent = SimpleUploadedFile("numbers.txt", b"0123456789")
    made = api.post("/api/files", {"file": sent}).json()
    url = f"/api/files/{made['id']}/content"
    assert body_of(api.get(url)) == b"0123456789"
    part = api.get(url, headers={"Range": "bytes=2-5"})
    assert (part.status_code, body_of(part), part["Content-Range"]) == (206, b"2345", "bytes 2-5/10")
    assert body_of(api.get(url, headers={"Range": "bytes=-3"})) == b"789"
    assert api.get(url, headers={"Range": "bytes=50-"}).status_code == 416


def body_of(response: Any) -> bytes:
    return b"".join(response.streaming_content)


def test_a_long_text_is_read_from_its_middle(ada: AbstractBaseUser) -> None:
    text = "".join(f"line {number}\n" for number in range(5_000))
    file = files.save(ada, "long.txt", text.encode())
    with files.open_file(file) as content:
        content.seek(10_000)
        assert content.read(100) == text.encode()[10_000:10_100]


@pytest.fixture
def fetched() -> list[int]:
    """How many bytes each answer with content held."""
    sizes: list[int] = []
    events = default_storage.bucket.meta.client.meta.events  # type: ignore[attr-defined]
    events.register("after-call.s3.GetObject", lambda parsed, **more: sizes.append(parsed["ContentLength"]))
    return sizes


def test_of_a_file_only_the_part_asked_for_is_fetched(
    ada: AbstractBaseUser, api: Client, fetched: list[int]
) -> None:
    content = os.urandom(PARTS_BYTES)
    file = files.save(ada, "big.bin", content)
    assert files.read_range(file, 5_000_000, 100) == content[5_000_000:5_000_100]
    part = api.get(f"/api/files/{file.id}/content", headers={"Range": "bytes=2-5"})
    assert (part.status_code, body_of(part)) == (206, content[2:6])
    assert body_of(api.get(f"/api/files/{file.id}/content", headers={"Range": "bytes=-7"})) == content[-7:]
    assert fetched == [100, 4, 7]


def test_behind_the_end_nothing_is_read(ada: AbstractBaseUser, fetched: list[int]) -> None:
    file, empty = files.save(ada, "a.txt", b"hello"), files.save(ada, "empty.txt", b"")
    assert files.read_range(file, 3, 100) == b"lo"
    assert [files.read_range(file, 5), files.read_range(file, 99, 1), files.read_range(empty)] == [b""] * 3
    assert fetched == [2]


def test_deleting_and_overwriting_remove_the_content(
    ada: AbstractBaseUser, s3: str, django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks
) -> None:
    with django_capture_on_commit_callbacks(execute=True):
        files.save(ada, "a.txt", b"old")
        new = files.save(ada, "a.txt", b"new", overwrite=True)
    assert stored(s3) == {new.blob}
    with django_capture_on_commit_callbacks(execute=True):
        files.delete(new)
    assert stored(s3) == set()
    assert not LooseBlob.objects.exists()


def test_an_upload_over_the_quota_leaves_nothing_in_the_bucket(
    ada: AbstractBaseUser, s3: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "MAX_WORKSPACE_BYTES", 1_000)
    with pytest.raises(QuotaExceeded):
        files.save(ada, "a.bin", b"x" * 2_000)
    assert (stored(s3), WorkspaceFile.objects.count()) == (set(), 0)
    assert not LooseBlob.objects.exists()


def test_content_that_is_gone_from_the_bucket_is_said_to_be_gone(
    ada: AbstractBaseUser, api: Client, s3: str
) -> None:
    file = files.save(ada, "a.txt", b"hello")
    bucket(s3).Object(file.blob).delete()
    with pytest.raises(ContentGone):
        files.open_file(file)
    with pytest.raises(ContentGone):
        files.read_range(file, 1, 2)
    assert api.get(f"/api/files/{file.id}/content").status_code == ContentGone.status


def test_what_s3_does_not_delete_now_is_deleted_by_the_broom(
    ada: AbstractBaseUser,
    s3: str,
    settings: Settings,
    django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks,
) -> None:
    file = files.save(ada, "a.txt", b"hello")
    settings.STORAGES = storages(settings, "http://127.0.0.1:9")
    with django_capture_on_commit_callbacks(execute=True):
        files.delete(file)
    assert LooseBlob.objects.get().blob == file.blob
    settings.STORAGES = storages(settings, s3)
    assert purge_deleted(older_than_seconds=0) == 1
    assert stored(s3) == set()


def test_the_bucket_is_never_linked_to(ada: AbstractBaseUser, api: Client) -> None:
    file = files.save(ada, "a.txt", b"hello")
    shown = api.get(f"/api/files/{file.id}").content.decode()
    assert file.blob not in shown and BUCKET not in shown
    assert default_storage.exists(file.blob)
