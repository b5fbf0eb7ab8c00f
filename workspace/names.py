"""Names of files made safe to show, to store and to download on any system."""

from __future__ import annotations

import re
import unicodedata

from durable import limits

FORBIDDEN = re.compile(r'[<>:"|?*]')
DRIVE = re.compile(r"^[A-Za-z]:(?=[/\\]|$)")
RESERVED = re.compile(r"(con|prn|aux|nul|conin\$|conout\$|com[0-9¹²³]|lpt[0-9¹²³])(\..*)?", re.IGNORECASE)
INVISIBLE = frozenset(
    {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
)  # controls, RTL overrides, lone surrogates, ...
UNNAMED = "file"


def clean_path(text: str) -> str:
    """A relative path like `reports/2026/march.csv`, whatever was given. Cleaning twice changes nothing more."""
    text = DRIVE.sub("", unicodedata.normalize("NFC", text).strip())
    parts = [part for part in map(clean_part, re.split(r"[/\\]", text)) if part]
    parts = parts[-limits.MAX_PATH_DEPTH :] or [UNNAMED]
    while len("/".join(parts)) > limits.MAX_PATH_CHARACTERS:
        parts = parts[1:]
    return "/".join(parts)


def clean_part(part: str) -> str:
    """One name of a path; empty when nothing of it is left."""
    part = "".join(character for character in part if unicodedata.category(character) not in INVISIBLE)
    part = trim(FORBIDDEN.sub("_", part))
    if RESERVED.fullmatch(part):
        part = f"_{part}"
    return shorten(part)


def trim(part: str) -> str:
    """Without dots and blanks at either end: no `.`, no `..`, no dot file, nothing Windows would drop."""
    return unicodedata.normalize("NFC", re.sub(r"\s+", " ", part)).strip(". ")


def shorten(part: str) -> str:
    """At most the allowed characters and bytes, the extension kept."""
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
    """`a/b.txt` as `a/b (2).txt`: the name for a second file of the same name."""
    folder, slash, name = path.rpartition("/")
    stem, dot, extension = name.rpartition(".")
    if not dot:
        stem, extension = name, ""
    tail = f" ({number}){dot}{extension}"
    return clean_path(folder + slash + stem[: max(1, limits.MAX_NAME_CHARACTERS - len(tail))] + tail)
