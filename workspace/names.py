"""File names that are safe to show, store and download on any system."""

from __future__ import annotations

import re
import unicodedata

from workspace import limits

FORBIDDEN = re.compile(r'[<>:"|?*]')
DRIVE = re.compile(r"^[A-Za-z]:(?=[/\\]|$)")
RESERVED = re.compile(r"(con|prn|aux|nul|conin\$|conout\$|com[0-9¹²³]|lpt[0-9¹²³])(\..*)?", re.IGNORECASE)
INVISIBLE = frozenset(
    {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
)  # controls, RTL overrides, lone surrogates, ...
UNNAMED = "file"


def clean_path(text: str) -> str:
    """Return a relative path such as `reports/2026/march.csv` for any text. Idempotent."""
    text = DRIVE.sub("", unicodedata.normalize("NFC", text).strip())
    parts = [part for part in map(clean_part, re.split(r"[/\\]", text)) if part]
    parts = parts[-limits.MAX_PATH_DEPTH :] or [UNNAMED]
    while len("/".join(parts)) > limits.MAX_PATH_CHARACTERS:
        parts = parts[1:]
    return "/".join(parts)


def clean_part(part: str) -> str:
    """Return one part of a path, cleaned; it may be empty."""
    part = "".join(character for character in part if unicodedata.category(character) not in INVISIBLE)
    part = trim(FORBIDDEN.sub("_", part))
    if RESERVED.fullmatch(part):
        part = f"_{part}"
    return shorten(part)


def trim(part: str) -> str:
    """Strip dots and spaces from both ends: no `.`, `..`, dot files, or names that Windows would change."""
    return unicodedata.normalize("NFC", re.sub(r"\s+", " ", part)).strip(". ")


def shorten(part: str) -> str:
    """Cut to the allowed characters and bytes, keeping the extension."""
    stem, dot, extension = part.rpartition(".")
    if not dot or len(extension) > 10:
        stem, extension = part, ""
    room = limits.MAX_NAME_CHARACTERS - len(dot + extension if extension else "")
    stem = stem[:room]
    tail = f".{extension}" if extension else ""
    while len((stem + tail).encode()) > limits.MAX_NAME_BYTES:
        stem = stem[:-1]
    return trim(stem + tail)


def numbered(path: str, number: int) -> str:
    """Return `a/b (2).txt` for `a/b.txt`, the name of a second file."""
    folder, slash, name = path.rpartition("/")
    stem, dot, extension = name.rpartition(".")
    if not dot:
        stem, extension = name, ""
    tail = f" ({number}){dot}{extension}"
    return clean_path(folder + slash + stem[: max(1, limits.MAX_NAME_CHARACTERS - len(tail))] + tail)
