"""SECURITY.md case 68: archives that try to write outside."""

from __future__ import annotations

import io
import stat
import zipfile

import pytest
from django.contrib.auth.models import AbstractBaseUser

from workspace import files, limits
from workspace.archives import END, END_MARK, unpack
from workspace.errors import BadArchive, QuotaExceeded
from workspace.models import WorkspaceFile


def archive(*entries: tuple[str | zipfile.ZipInfo, bytes]) -> io.BytesIO:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as opened:
        for name, content in entries:
            opened.writestr(name, content)
    out.seek(0)
    return out


def special(name: str, kind: int) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name)
    entry.external_attr = (kind | 0o777) << 16
    return entry


def test_an_archive_is_unpacked_below_its_folder(ada: AbstractBaseUser) -> None:
    saved = unpack(ada, archive(("a/b.txt", b"hi"), ("a/", b""), ("c.txt", b"there")), folder="import")
    assert [(file.path, files.read_range(file)) for file in saved] == [
        ("import/a/b.txt", b"hi"),
        ("import/c.txt", b"there"),
    ]


@pytest.mark.parametrize(
    "name", ["../../etc/cron.d/x", "a/../../x", "/etc/passwd", "..\\..\\x", "C:\\x", "a\\b"]
)
def test_case_68_zip_slip_is_refused_and_nothing_is_kept(ada: AbstractBaseUser, name: str) -> None:
    with pytest.raises(BadArchive):
        unpack(ada, archive(("good.txt", b"x"), (name, b"evil")), folder="import")
    assert not WorkspaceFile.objects.exists()


@pytest.mark.parametrize("kind", [stat.S_IFLNK, stat.S_IFIFO, stat.S_IFCHR])
def test_case_68_links_and_devices_are_refused(ada: AbstractBaseUser, kind: int) -> None:
    with pytest.raises(BadArchive):
        unpack(ada, archive((special("link", kind), b"/etc/passwd")), folder="import")


@pytest.mark.parametrize("content", [b"", b"not a zip", b"PK\x03\x04" + b"\0" * 50])
def test_what_is_no_archive_is_refused(ada: AbstractBaseUser, content: bytes) -> None:
    with pytest.raises(BadArchive):
        unpack(ada, io.BytesIO(content), folder="import")


def test_a_damaged_entry_takes_the_others_back(ada: AbstractBaseUser) -> None:
    data = bytearray(archive(("a.txt", b"good"), ("b.txt", b"y" * 5000)).getvalue())
    at = data.index(b"b.txt") + len("b.txt") + 2
    data[at : at + 4] = b"\xff\xff\xff\xff"
    with pytest.raises(BadArchive):
        unpack(ada, io.BytesIO(bytes(data)), folder="import")
    assert not WorkspaceFile.objects.exists()


def test_an_archive_of_too_many_or_too_much_is_refused(
    ada: AbstractBaseUser, monkeypatch: pytest.MonkeyPatch
) -> None:
    bomb = archive(("zeros", b"\0" * 1_000_000))
    monkeypatch.setattr(limits, "MAX_ARCHIVE_BYTES", 1000)
    with pytest.raises(BadArchive):
        unpack(ada, bomb, folder="import")
    monkeypatch.setattr(limits, "MAX_ARCHIVE_FILES", 2)
    with pytest.raises(BadArchive):
        unpack(ada, archive(("a", b""), ("b", b""), ("c", b"")), folder="import")


def test_a_full_workspace_takes_the_whole_archive_back(
    ada: AbstractBaseUser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "MAX_WORKSPACE_BYTES", 15)
    with pytest.raises(QuotaExceeded):
        unpack(ada, archive(("a", b"1234567890"), ("b", b"1234567890")), folder="import")
    assert not WorkspaceFile.objects.exists()


def directory(entries: int) -> io.BytesIO:
    """An archive that is little more than its list of entries."""
    entry = b"PK\x01\x02" + bytes(42)
    return io.BytesIO(entry * entries + END.pack(END_MARK, 0, 0, 1, 1, len(entry) * entries, 0, 0))


def test_a_long_list_of_entries_is_refused_before_it_is_read(ada: AbstractBaseUser) -> None:
    """A million entries take a gigabyte of memory once they are read, whatever their number is said to be."""
    with pytest.raises(BadArchive, match="too long"):
        unpack(ada, directory(1_000_000), folder="import")


def test_an_archive_of_the_large_form_is_refused(ada: AbstractBaseUser) -> None:
    """There the list that counts is elsewhere."""
    good = archive(("a.txt", b"x")).getvalue()
    cut = len(good) - END.size
    with pytest.raises(BadArchive, match="entries"):
        unpack(ada, io.BytesIO(good[:cut] + b"PK\x06\x07" + bytes(16) + good[cut:]), folder="import")


def test_a_comment_behind_the_list_is_no_reason_to_refuse(ada: AbstractBaseUser) -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as opened:
        opened.writestr("a.txt", b"x")
        opened.comment = b"made by somebody"
    assert len(unpack(ada, out, folder="import")) == 1


@pytest.mark.parametrize("method", [zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2])
def test_only_the_usual_way_of_packing_is_read(ada: AbstractBaseUser, method: int) -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as opened:
        opened.writestr("a.txt", b"x" * 100)
    with pytest.raises(BadArchive, match="deflate"):
        unpack(ada, out, folder="import")
