"""Saving, finding, reading, renaming, deleting and listing files."""

from __future__ import annotations

import hashlib
import io
import threading
import uuid
import zipfile
from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import AbstractBaseUser
from django.core.files.storage import FileSystemStorage, default_storage
from django.db import connection

from durable import storable
from workspace import files, limits
from workspace.blobs import MeasuredReader, as_readable, purge_deleted
from workspace.errors import ContentGone, FileMissing, FileTooLarge, PathTaken, QuotaExceeded
from workspace.models import LooseBlob, WorkspaceFile, WorkspaceUsage


def usage_of(user: AbstractBaseUser) -> tuple[int, int]:
    row = WorkspaceUsage.objects.get(user_id=user.pk)
    return row.bytes, row.files


def assert_storage_matches_rows() -> None:
    """Every blob belongs to a file, every file has its blob, and nothing is loose."""
    stored = set()
    folders, _ = default_storage.listdir("workspace") if default_storage.exists("workspace") else ([], [])
    for folder in folders:
        stored |= {f"workspace/{folder}/{name}" for name in default_storage.listdir(f"workspace/{folder}")[1]}
    assert stored == set(WorkspaceFile.objects.values_list("blob", flat=True))
    assert not LooseBlob.objects.exists()


@pytest.fixture(autouse=True)
def own_storage(settings: Any, tmp_path: Any) -> None:
    settings.STORAGES = {
        **settings.STORAGES,
        "default": {
            "BACKEND": "django.core.files.storage.FileSystemStorage",
            "OPTIONS": {"location": tmp_path / "files"},
        },
    }


def test_case_68_an_archive_stays_one_file(ada: AbstractBaseUser) -> None:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr("../../etc/cron.d/x", b"evil")
    file = files.save(ada, "all.zip", content.getvalue())
    assert [(one.path, one.media_type) for one in WorkspaceFile.objects.all()] == [
        ("all.zip", "application/zip")
    ]
    assert files.read_range(file) == content.getvalue()


@pytest.mark.django_db(transaction=True)
def test_a_saved_file_can_be_found_and_read(ada: AbstractBaseUser) -> None:
    session_id = uuid.uuid4()
    file = files.save(ada, "../notes/a.txt", b"hello", session_id=session_id)
    assert (file.path, file.name, file.media_type, file.size) == ("notes/a.txt", "a.txt", "text/plain", 5)
    assert file.sha256 == hashlib.sha256(b"hello").hexdigest()
    assert file.session_id == session_id
    assert file.reference == f"workspace://{file.id}"
    assert files.find(ada, file_id=file.id) == files.find(ada, file_id=str(file.id)) == file
    assert files.find(ada, path="/notes/a.txt") == file
    with files.open_file(file) as content:
        assert content.read() == b"hello"
    assert usage_of(ada) == (5, 1)
    assert_storage_matches_rows()


def test_the_stored_key_has_nothing_of_the_name(ada: AbstractBaseUser) -> None:
    file = files.save(ada, "../../etc/cron.d/x", b"x")
    assert "cron" not in file.blob and ".." not in file.blob and len(file.blob.rpartition("/")[2]) == 32


@pytest.mark.parametrize("pieces", [[b"ab", b"c", b"defg" * 50_000], [b"x"] * 1000, []])
def test_a_storage_that_reads_large_parts_gets_them_whole(pieces: list[bytes]) -> None:
    """S3's library reads 8 MB at a time and takes a shorter read for the end of the file."""
    whole = b"".join(pieces)
    reader = MeasuredReader(as_readable(iter(pieces)), room=10**9)
    assert reader.read(100) + reader.read(8 * 1024**2) + reader.read(1) == whole
    assert reader.size == len(whole)
    assert MeasuredReader(as_readable(iter(pieces)), room=10**9).read() == whole


@pytest.mark.parametrize("content", [io.BytesIO(b"abcdef"), [b"ab", b"", b"cdef"], iter((b"abc", b"def"))])
def test_content_may_come_as_a_stream_or_in_pieces(ada: AbstractBaseUser, content: Any) -> None:
    assert files.read_range(files.save(ada, "a", content)) == b"abcdef"


@pytest.mark.parametrize(
    ("offset", "length", "expected"),
    [
        (0, None, b"0123456789"),
        (3, 2, b"34"),
        (8, 100, b"89"),
        (10, 1, b""),
        (99, 5, b""),
        (-5, 2, b"01"),
        (0, -1, b""),
    ],
)
def test_a_range_of_a_file_can_be_read(
    ada: AbstractBaseUser, offset: int, length: int | None, expected: bytes
) -> None:
    assert files.read_range(files.save(ada, "a", b"0123456789"), offset, length) == expected


@pytest.mark.parametrize(
    "wanted", [{"file_id": uuid.uuid4()}, {"file_id": "not-an-id"}, {"path": "no/such"}, {}]
)
def test_what_is_not_there_is_missing(ada: AbstractBaseUser, wanted: dict[str, Any]) -> None:
    with pytest.raises(FileMissing):
        files.find(ada, **wanted)


def test_anothers_file_is_missing_by_id_and_by_path(ada: AbstractBaseUser, bob: AbstractBaseUser) -> None:
    file = files.save(bob, "secret.txt", b"x")
    for wanted in ({"file_id": file.id}, {"path": "secret.txt"}):
        with pytest.raises(FileMissing):
            files.find(ada, **wanted)
    assert files.list_files(ada).files == []


@pytest.mark.django_db(transaction=True)
def test_a_taken_path_is_refused_and_leaves_nothing_behind(ada: AbstractBaseUser) -> None:
    files.save(ada, "a.txt", b"one")
    with pytest.raises(PathTaken):
        files.save(ada, "a.txt", b"two")
    assert usage_of(ada) == (3, 1)
    assert_storage_matches_rows()


@pytest.mark.django_db(transaction=True)
def test_overwriting_keeps_the_id_and_counts_the_difference(ada: AbstractBaseUser) -> None:
    first = files.save(ada, "a.txt", b"one")
    second = files.save(ada, "a.txt", b"<html>longer", overwrite=True)
    assert (second.id, second.media_type) == (first.id, "text/html")
    assert files.read_range(second) == b"<html>longer"
    assert usage_of(ada) == (12, 1)
    assert_storage_matches_rows()


def test_a_numbered_save_finds_the_next_free_name(ada: AbstractBaseUser) -> None:
    paths = [files.save(ada, "pictures/a.png", b"x", number=True).path for _ in range(3)]
    assert paths == ["pictures/a.png", "pictures/a (2).png", "pictures/a (3).png"]


@pytest.mark.django_db(transaction=True)
def test_the_same_key_makes_one_file(ada: AbstractBaseUser, bob: AbstractBaseUser) -> None:
    first = files.save(ada, "a.txt", b"one", key="call-1")
    assert files.save(ada, "b.txt", b"two", key="call-1") == first
    assert files.save(bob, "b.txt", b"two", key="call-1") != first
    assert usage_of(ada) == (3, 1)
    assert_storage_matches_rows()


@pytest.mark.django_db(transaction=True)
def test_a_file_over_the_cap_is_refused_and_leaves_nothing_behind(
    ada: AbstractBaseUser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "MAX_FILE_BYTES", 1000)

    def endless() -> Iterator[bytes]:
        while True:
            yield b"x" * 100

    with pytest.raises(FileTooLarge):
        files.save(ada, "a", endless())
    assert_storage_matches_rows()


@pytest.mark.django_db(transaction=True)
def test_a_full_workspace_refuses_by_bytes_and_by_count(
    ada: AbstractBaseUser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "MAX_WORKSPACE_BYTES", 10)
    monkeypatch.setattr(limits, "MAX_WORKSPACE_FILES", 2)
    first = files.save(ada, "a", b"12345678")
    with pytest.raises(QuotaExceeded):
        files.save(ada, "b", b"123")
    files.save(ada, "a", b"1234567890", overwrite=True)
    with pytest.raises(QuotaExceeded):
        files.save(ada, "b", b"1")
    files.delete(first)
    files.save(ada, "b", b"1")
    files.save(ada, "c", b"1")
    with pytest.raises(QuotaExceeded):
        files.save(ada, "d", b"1")
    assert usage_of(ada) == (2, 2)
    assert_storage_matches_rows()


def in_parallel(count: int, work: Any) -> list[Any]:
    """Run `work(index)` in threads that start together; returns results and exceptions in order."""
    results: list[Any] = [None] * count
    barrier = threading.Barrier(count)

    def run(index: int) -> None:
        barrier.wait(30)
        try:
            results[index] = work(index)
        except Exception as error:  # noqa: BLE001 - the test looks at every outcome
            results[index] = error
        finally:
            connection.close()

    threads = [threading.Thread(target=run, args=(index,)) for index in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    return results


@pytest.mark.django_db(transaction=True)
def test_case_69_twenty_parallel_uploads_at_the_limit_never_go_above(
    ada: AbstractBaseUser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "MAX_WORKSPACE_BYTES", 10_000)
    results = in_parallel(20, lambda index: files.save(ada, f"{index}.bin", b"x" * 3_000))
    saved = [result for result in results if isinstance(result, WorkspaceFile)]
    refused = [result for result in results if isinstance(result, QuotaExceeded)]
    assert (len(saved), len(refused)) == (3, 17)
    assert usage_of(ada) == (9_000, 3)
    assert_storage_matches_rows()


@pytest.mark.django_db(transaction=True)
def test_case_69_parallel_saves_to_one_path_leave_one_file(ada: AbstractBaseUser) -> None:
    results = in_parallel(8, lambda index: files.save(ada, "same.txt", str(index).encode()))
    assert sum(isinstance(result, WorkspaceFile) for result in results) == 1
    assert sum(isinstance(result, PathTaken) for result in results) == 7
    assert usage_of(ada) == (1, 1)
    assert_storage_matches_rows()


@pytest.mark.django_db(transaction=True)
def test_parallel_overwrites_and_keys_agree_on_one_file(ada: AbstractBaseUser) -> None:
    overwritten = in_parallel(8, lambda index: files.save(ada, "same.txt", b"x" * index, overwrite=True))
    keyed = in_parallel(8, lambda index: files.save(ada, f"{index}.txt", b"y", key="once"))
    assert len({file.id for file in overwritten}) == len({file.id for file in keyed}) == 1
    assert WorkspaceFile.objects.count() == 2
    assert_storage_matches_rows()


def test_renaming_moves_the_path_only(ada: AbstractBaseUser) -> None:
    file = files.save(ada, "a.txt", b"one")
    files.save(ada, "b.txt", b"two")
    assert files.rename(file, "../c/a.txt").path == "c/a.txt"
    assert files.rename(file, "c/a.txt").path == "c/a.txt"
    with pytest.raises(PathTaken):
        files.rename(file, "b.txt")
    assert files.read_range(files.find(ada, path="c/a.txt")) == b"one"


@pytest.mark.django_db(transaction=True)
def test_deleting_twice_frees_the_room_once(ada: AbstractBaseUser) -> None:
    keep, file = files.save(ada, "keep", b"123"), files.save(ada, "a", b"12345")
    files.delete(file)
    files.delete(file)
    assert usage_of(ada) == (3, 1)
    assert files.list_files(ada).files == [keep]
    assert_storage_matches_rows()


@pytest.mark.django_db(transaction=True)
def test_deleting_a_user_removes_the_content(ada: AbstractBaseUser) -> None:
    files.save(ada, "a", b"12345")
    get_user_model().objects.get(pk=ada.pk).delete()
    assert not WorkspaceUsage.objects.exists()
    assert_storage_matches_rows()


def test_content_that_storage_lost_is_reported(ada: AbstractBaseUser) -> None:
    file = files.save(ada, "a", b"12345")
    default_storage.delete(file.blob)
    with pytest.raises(ContentGone):
        files.open_file(file)
    with pytest.raises(ContentGone):
        files.read_range(file)


@pytest.mark.django_db(transaction=True)
def test_the_cleaning_job_removes_what_a_killed_upload_left(ada: AbstractBaseUser) -> None:
    kept = files.save(ada, "a", b"12345")
    default_storage.save("workspace/ab/left", io.BytesIO(b"left"))
    LooseBlob.objects.create(blob="workspace/ab/left")
    assert purge_deleted() == 0
    assert purge_deleted(older_than_seconds=0) == 1
    assert purge_deleted(older_than_seconds=0) == 0
    assert files.read_range(kept) == b"12345"
    assert_storage_matches_rows()


@pytest.mark.django_db(transaction=True)
def test_content_that_cannot_be_removed_waits_for_the_cleaning_job(
    ada: AbstractBaseUser, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = files.save(ada, "a", b"12345")

    def refuse(self: Any, name: str) -> None:
        raise OSError("storage is down")

    with monkeypatch.context() as broken:
        broken.setattr(FileSystemStorage, "delete", refuse)
        files.delete(file)
    assert usage_of(ada) == (0, 0)
    assert LooseBlob.objects.get().blob == file.blob
    assert purge_deleted(older_than_seconds=0) == 1
    assert_storage_matches_rows()


def test_listing_pages_by_path_below_a_prefix(ada: AbstractBaseUser) -> None:
    for path in ("b/1", "a/2", "a/1", "A/1", "a%1", "c"):
        files.save(ada, path, b"x")
    assert [file.path for file in files.list_files(ada, "a/").files] == ["a/1", "a/2"]
    assert [file.path for file in files.list_files(ada, "a%").files] == ["a%1"]
    seen, cursor = [], None
    while True:
        page = files.list_files(ada, cursor=cursor, limit=2)
        seen += [file.path for file in page.files]
        assert len(page.files) <= 2
        cursor = page.next
        if cursor is None:
            break
    assert sorted(seen) == sorted(["b/1", "a/2", "a/1", "A/1", "a%1", "c"])


@pytest.mark.parametrize("name", ["a\0b.txt", "a\ud800b.txt", "\0\ud800"])
def test_a_name_that_no_database_takes_is_cleaned(ada: AbstractBaseUser, name: str) -> None:
    file = files.save(ada, name, b"x")
    assert storable.is_text(file.path)
    assert file.path == files.find(ada, path=name).path
    assert files.list_files(ada, name).files == []


@pytest.mark.parametrize("cursor", ["%%%", "AAAA", "/w==", "é", "\ud800", "7aCA"])
def test_a_cursor_that_is_not_ours_starts_from_the_beginning(ada: AbstractBaseUser, cursor: str) -> None:
    files.save(ada, "a", b"x")
    assert len(files.list_files(ada, cursor=cursor, limit=0).files) == 1
