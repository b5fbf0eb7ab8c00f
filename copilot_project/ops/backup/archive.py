"""Write and restore a backup: a tar file of the database, the workspace files and a manifest."""

from __future__ import annotations

import json
import logging
import os
import shutil
import tarfile
import tempfile
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.files.base import File
from django.core.files.storage import default_storage
from django.utils import timezone

from copilot_project.ops.backup import databases
from copilot_project.ops.backup.errors import NotABackup, NotEmpty
from durable import event_log
from durable.redis import RedisError
from workspace.blobs import open_blob
from workspace.errors import ContentGone
from workspace.models import WorkspaceFile

logger = logging.getLogger(__name__)

FORMAT = 1
MANIFEST, KEYS, FILES = "manifest.json", "keys.json", "files"


@dataclass(frozen=True, kw_only=True)
class Manifest:
    """The contents of a backup."""

    database: str
    files: int
    missing: list[str] = field(default_factory=list)  # deleted while the backup was made
    keys: bool = False
    made_at: str = ""
    format: int = FORMAT


def make(path: Path, *, portable: bool = False, with_keys: bool = False) -> Manifest:
    """Write a backup to `path`, readable by its owner only; a failed one leaves no file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=".backup-") as place:
        folder = Path(place)
        draft = folder / "draft.tar.gz"
        draft.touch(mode=0o600)
        with tarfile.open(draft, "w:gz", compresslevel=4) as tar:
            name = databases.dump(folder, portable=portable)
            tar.add(folder / name, name)
            copied, missing = copy_files(tar, folder)
            if with_keys:
                write(
                    tar,
                    folder,
                    KEYS,
                    {"secret_key": settings.SECRET_KEY, "encryption_keys": settings.ENCRYPTION_KEYS},
                )
            manifest = Manifest(
                database=name,
                files=copied,
                missing=missing,
                keys=with_keys,
                made_at=timezone.now().isoformat(timespec="seconds"),
            )
            write(tar, folder, MANIFEST, asdict(manifest))
        draft.replace(path)
    return manifest


def copy_files(tar: tarfile.TarFile, folder: Path) -> tuple[int, list[str]]:
    """Add every workspace file from storage, one at a time; return their number and the missing ones."""
    copied, missing = 0, []
    piece = folder / "piece"
    for blob in WorkspaceFile.objects.order_by("pk").values_list("blob", flat=True).iterator():
        try:
            with open_blob(blob) as source, piece.open("wb") as target:
                shutil.copyfileobj(source, target)
        except ContentGone:
            missing.append(blob)
            continue
        tar.add(piece, f"{FILES}/{blob}")
        copied += 1
    return copied, missing


def write(tar: tarfile.TarFile, folder: Path, name: str, value: Any) -> None:
    path = folder / name
    path.touch(mode=0o600)
    path.write_text(json.dumps(value, indent=1))
    tar.add(path, name)


def restore(path: Path, *, replace: bool = False) -> Manifest:
    """Replace the database and files with those of a backup. Safe to repeat."""
    if not replace and not databases.is_empty():
        raise NotEmpty
    with tempfile.TemporaryDirectory(prefix="restore-") as place:
        folder = Path(place)
        manifest = unpack(path, folder)
        databases.load(folder / manifest.database)
        put_files(folder / FILES)
        if manifest.keys:
            put_keys(json.loads((folder / KEYS).read_text()))
    forget_events()
    return manifest


def forget_events() -> None:
    """Delete the event logs in Redis, which are newer than the backup. Without Redis, the next claim of a job does."""
    try:
        event_log.forget_all()
    except RedisError as error:
        logger.warning("The event logs in Redis were not deleted: %s", error)


def unpack(path: Path, folder: Path) -> Manifest:
    try:
        with tarfile.open(path) as tar:
            extract(tar, folder)
        manifest = Manifest(**json.loads((folder / MANIFEST).read_text()))
    except (tarfile.TarError, OSError, ValueError, TypeError, EOFError) as error:
        raise NotABackup(f"{path} is not a Ratchet backup, or it is damaged: {error}") from error
    if manifest.format > FORMAT or not (folder / manifest.database).is_file():
        raise NotABackup(f"{path} was made by a newer version, or is incomplete.")
    return manifest


def extract(tar: tarfile.TarFile, folder: Path) -> None:
    """Write the files of an archive below `folder`; raise TarError on links and paths that lead outside.

    By hand, since `extractall` has no filters before Python 3.11.4, and Debian 12 has 3.11.2.
    """
    inside = folder.resolve()
    for member in tar:
        target = (inside / member.name).resolve()
        if not (member.isfile() and target.is_relative_to(inside)):
            raise tarfile.TarError(f"{member.name!r} does not belong in a backup")
        content = tar.extractfile(member)
        assert content is not None  # as of every regular file
        target.parent.mkdir(parents=True, exist_ok=True)
        with content, target.open("wb") as place:
            shutil.copyfileobj(content, place)


def put_files(folder: Path) -> None:
    for source in sorted(found for found in folder.rglob("*") if found.is_file()):
        blob = source.relative_to(folder).as_posix()
        if default_storage.exists(blob):
            default_storage.delete(blob)
        with source.open("rb") as content:
            default_storage.save(blob, File(content, name=blob))


def put_keys(keys: dict[str, Any]) -> None:
    """Store the keys in the home folder; in production they come from the environment."""
    if settings.PRODUCTION:
        return
    folder = settings.HOME / "keys"
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    for name, value in (("secret_key", keys["secret_key"]), ("encryption_key", keys["encryption_keys"][0])):
        draft = folder / f".{name}.{os.getpid()}"
        draft.touch(mode=0o600)
        draft.write_text(value)
        draft.replace(folder / name)
