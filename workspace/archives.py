"""Unpack untrusted zip archives."""

from __future__ import annotations

import contextlib
import io
import stat
import struct
import uuid
import zipfile
import zlib
from typing import BinaryIO

from django.contrib.auth.models import AbstractBaseUser

from workspace import files, limits
from workspace.errors import BadArchive
from workspace.models import WorkspaceFile

ENCRYPTED = 0x1
METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
ENTRY_BYTES = 1024  # on average, with its name
END = struct.Struct("<4s4H2LH")  # the end of the list of entries: their number and the bytes of the list
END_MARK, LARGE_MARK = b"PK\x05\x06", b"PK\x06\x07"  # the latter: the true numbers are elsewhere, and larger
LARGE_BYTES = 20
END_BYTES = END.size + LARGE_BYTES + 0xFFFF
BROKEN = (zipfile.BadZipFile, zlib.error, NotImplementedError, EOFError, RuntimeError, ValueError, OSError)


def unpack(
    user: AbstractBaseUser, archive: BinaryIO, *, folder: str, session_id: uuid.UUID | None = None
) -> list[WorkspaceFile]:
    """Save all files of a zip below a folder, or none; raises BadArchive or another WorkspaceError."""
    saved: list[WorkspaceFile] = []
    with contextlib.ExitStack() as undo:
        try:
            check_directory(archive)
            with zipfile.ZipFile(archive) as opened:
                for entry in checked_entries(opened):
                    with opened.open(entry) as content:
                        path = f"{folder}/{entry.filename}"
                        file = files.save(user, path, content, session_id=session_id, number=True)
                    undo.callback(files.delete, file)
                    saved.append(file)
        except BROKEN as error:
            raise BadArchive from error
        undo.pop_all()
    return saved


def check_directory(archive: BinaryIO) -> None:
    """Raise BadArchive if the list of entries is too long, before it is read."""
    archive.seek(0, io.SEEK_END)
    archive.seek(max(archive.tell() - END_BYTES, 0))
    tail = archive.read(END_BYTES)
    archive.seek(0)
    at = len(tail) - END.size
    if not (tail[at:].startswith(END_MARK) and tail.endswith(b"\0\0")):  # no comment behind it
        at = tail.rfind(END_MARK)
    if at < 0 or len(tail) < at + END.size:
        raise BadArchive
    _, _, _, _, entries, size, _, _ = END.unpack_from(tail, at)
    if LARGE_MARK in tail[max(at - LARGE_BYTES, 0) : at] or entries > limits.MAX_ARCHIVE_FILES:
        raise BadArchive(f"The archive has more than {limits.MAX_ARCHIVE_FILES} entries.")
    if size > limits.MAX_ARCHIVE_FILES * ENTRY_BYTES:
        raise BadArchive("The archive's list of entries is too long.")


def checked_entries(archive: zipfile.ZipFile) -> list[zipfile.ZipInfo]:
    """Return the files of an archive after checking every name and the total size; raises BadArchive."""
    entries = archive.infolist()
    if len(entries) > limits.MAX_ARCHIVE_FILES:
        raise BadArchive(f"The archive has more than {limits.MAX_ARCHIVE_FILES} entries.")
    for entry in entries:
        check_entry(entry)
    if sum(entry.file_size for entry in entries) > limits.MAX_ARCHIVE_BYTES:
        raise BadArchive(f"Unpacked, the archive has more than {limits.MAX_ARCHIVE_BYTES // 1024**2} MB.")
    return [entry for entry in entries if not entry.is_dir()]


def check_entry(entry: zipfile.ZipInfo) -> None:
    name = entry.orig_filename
    if name.startswith("/") or "\\" in name or ":" in name or "\0" in name or ".." in name.split("/"):
        raise BadArchive(f"The archive has a name that leads outside of it: {name[:100]!r}.")
    mode = entry.external_attr >> 16
    if stat.S_IFMT(mode) not in (0, stat.S_IFREG, stat.S_IFDIR):
        raise BadArchive(f"The archive has an entry that is not a regular file: {name[:100]!r}.")
    if entry.compress_type not in METHODS:  # other methods may use unbounded memory
        raise BadArchive("The archive uses an unsupported compression method. Use deflate.")
    if entry.flag_bits & ENCRYPTED:
        raise BadArchive("The archive is encrypted.")
