"""One backup: a tar file with the database, the files of the workspace and a list of what is in it."""

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

from copilot_project.backup import databases
from copilot_project.backup.errors import NotABackup, NotEmpty
from durable import log
from durable.redis import RedisError
from workspace.blobs import open_blob
from workspace.errors import ContentGone
from workspace.models import WorkspaceFile

logger = logging.getLogger(__name__)

FORMAT = 1
MANIFEST, KEYS, FILES = "manifest.json", "keys.json", "files"


@dataclass(frozen=True, kw_only=True)
class Manifest:
    """What a backup holds."""

    database: str
    files: int
    missing: list[str] = field(default_factory=list)  # deleted while the backup was made
    keys: bool = False
    made_at: str = ""
    format: int = FORMAT


def make(path: Path, *, portable: bool = False, with_keys: bool = False) -> Manifest:
    """Write a backup to `path`, readable for its owner alone; a broken-off one leaves nothing there."""
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
    """Every file of the workspace, wherever storage keeps it, one at a time."""
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
    """Put a backup in the place of what is here. Twice does no harm."""
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
    """What Redis has of turns was said after the backup was made. Without Redis the next claim of each sees to it."""
    try:
        log.forget_all()
    except RedisError as error:
        logger.warning("The event logs in Redis were not deleted: %s", error)


def unpack(path: Path, folder: Path) -> Manifest:
    try:
        with tarfile.open(path) as tar:
            extract(tar, folder)
        manifest = Manifest(**json.loads((folder / MANIFEST).read_text()))
    except (tarfile.TarError, OSError, ValueError, TypeError, EOFError) as error:
        raise NotABackup(f"{path} is no backup of ours, or it is damaged: {error}") from error
    if manifest.format > FORMAT or not (folder / manifest.database).is_file():
        raise NotABackup(f"{path} was made by a newer version, or part of it is missing.")
    return manifest


def extract(tar: tarfile.TarFile, folder: Path) -> None:
    """Write the files of an archive below `folder`; raises TarError on anything else, such as a link or a way out.

    By hand, since `extractall` has no filters before Python 3.11.4, and Debian 12 has 3.11.2.
    """
    inside = folder.resolve()
    for member in tar:
        target = (inside / member.name).resolve()
        if not (member.isfile() and target.is_relative_to(inside)):
            raise tarfile.TarError(f"{member.name!r} is no file of a backup")
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
    """Where a development set-up keeps them; in production the environment names them, and stays as it is."""
    if settings.PRODUCTION:
        return
    folder = settings.HOME / "keys"
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    for name, value in (("secret_key", keys["secret_key"]), ("encryption_key", keys["encryption_keys"][0])):
        draft = folder / f".{name}.{os.getpid()}"
        draft.touch(mode=0o600)
        draft.write_text(value)
        draft.replace(folder / name)
