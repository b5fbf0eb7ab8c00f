"""Files and uploads."""

from __future__ import annotations

import socket
from urllib.parse import urlsplit

import httpx

from attack.case import Section, attack, expect, expect_status, proven_by
from attack.site import ATTACKER, Site

FILES = Section.FILES
NAMES = [
    "../../etc/cron.d/x",
    "/etc/passwd",
    "x" * 300,
    "CON",
    "a\u202egnp.exe",
    ".bashrc",
    "a\r\nSet-Cookie: x=1",
    "..",
    "%2e%2e/x",
]
ACTIVE = {
    "page.html": b"<script>alert(1)</script>",
    "picture.svg": b'<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"></svg>',
    "page.png": b"<html><script>alert(1)</script></html>",
    "comment.txt": b"<!-- x --><script>alert(1)</script>",
}


def raw_post(site: Site, head: str, body: bytes = b"", *, seconds: float = 15) -> int:
    """Send a raw request and return its status, or 0 if the connection is closed without one."""
    split = urlsplit(site.url)
    with socket.create_connection((split.hostname or "", split.port or 80), seconds) as line:
        headers = f"Host: {split.netloc}\r\nAuthorization: Bearer {site.keys[ATTACKER]}\r\n"
        line.sendall(f"{head}{headers}\r\n".encode() + body)
        try:
            status = line.recv(4096).split(b" ", 2)
        except (TimeoutError, ConnectionError):
            return 0
    return int(status[1]) if len(status) > 1 else 0


@attack(
    63,
    FILES,
    "Names with `../`, a root, line breaks, `CON`, RTL marks, 300 characters, a leading dot",
    "stored under a random id, shown clean",
    anywhere=True,
)
def names(site: Site) -> None:
    for name in NAMES:
        answer = site.attacker.post("/api/files", files={"file": ("placeholder", b"x")}, data={"path": name})
        expect(answer.status_code in (201, 400), f"{name!r} was answered {answer.status_code}")
        if answer.status_code == 400:
            continue
        shown = answer.json()
        clean = not ({"..", ""} & set(shown["path"].split("/"))) and not shown["name"].startswith(".")
        expect(
            clean and len(shown["name"]) <= 255 and shown["name"].isprintable(),
            f"{name!r} became {shown['path']!r}",
        )
        served = site.attacker.get(shown["content_url"])
        expect(
            "set-cookie" not in served.headers or "x=1" not in served.headers["set-cookie"],
            "a header was written",
        )
        site.attacker.delete(f"/api/files/{shown['id']}")


@attack(
    64,
    FILES,
    "2 GB announced, a body of unknown length, 10,000 form fields, a huge field",
    "413, 411 or 400",
    anywhere=True,
)
def sizes(site: Site) -> None:
    form = "POST /api/files HTTP/1.1\r\nContent-Type: multipart/form-data; boundary=x\r\n"
    huge = f"{form}Content-Length: 2147483648\r\n"
    expect_status(raw_post(site, huge, b"--x\r\n"), 413, 400, 0, what="2 GB")
    chunked = f"{form}Transfer-Encoding: chunked\r\n"
    expect_status(
        raw_post(site, chunked, b"5\r\nhello\r\n0\r\n\r\n"), 411, 400, 413, what="an unknown length"
    )
    many = site.attacker.post(
        "/api/files", data={f"f{number}": "x" for number in range(10_000)}, files={"file": ("a", b"x")}
    )
    expect_status(many.status_code, 400, 413, what="10,000 fields")
    field = site.attacker.post(
        "/api/files", data={"path": "x" * 20_000_000}, files={"file": ("a", b"x")}, timeout=60
    )
    expect_status(field.status_code, 400, 413, what="a field of 20 MB")


@attack(
    65,
    FILES,
    "Upload HTML and SVG and open them",
    "an attachment, nosniff, a sandboxing policy",
    anywhere=True,
)
def active_content(site: Site) -> None:
    for name, content in ACTIVE.items():
        file = site.attacker.post("/api/files", files={"file": (name, content, "image/png")}).json()
        served = site.attacker.get(file["content_url"])
        headers = served.headers
        safe = headers["content-disposition"].startswith("attachment") or headers["content-type"].startswith(
            ("image/png", "text/plain")
        )
        expect(safe, f"{name}: {headers.get('content-disposition')}, {headers.get('content-type')}")
        expect(headers.get("x-content-type-options") == "nosniff", f"{name} may be sniffed")
        expect("sandbox" in headers.get("content-security-policy", ""), f"{name} has no sandbox")
        site.attacker.delete(f"/api/files/{file['id']}")


@attack(
    66,
    FILES,
    "HTML with a picture's name and type",
    "its type is found from its content",
    anywhere=True,
    tests=["workspace/test_media_types.py::test_case_66_a_polyglot_is_what_a_picture_reader_makes_of_it"],
)
def wrong_type(site: Site) -> None:
    content = b"<!doctype html><script>alert(1)</script>"
    file = site.attacker.post("/api/files", files={"file": ("cat.png", content, "image/png")}).json()
    expect(not file["media_type"].startswith("image/"), f"it was taken for {file['media_type']}")


proven_by(
    67,
    FILES,
    "A PNG of a few bytes that claims 50,000 x 50,000 pixels",
    "refused before it is decoded",
    "workspace/test_images.py::test_case_67_a_decompression_bomb_is_refused_before_it_is_decoded",
)
proven_by(
    68,
    FILES,
    "An archive with entries outside its folder",
    "kept as the one file it is; nothing unpacks it",
    "workspace/test_files.py::test_case_68_an_archive_stays_one_file",
)
proven_by(
    69,
    FILES,
    "Twenty uploads at once at the quota's limit",
    "never above it",
    "workspace/test_files.py::test_case_69_twenty_parallel_uploads_at_the_limit_never_go_above",
    "workspace/test_files.py::test_case_69_parallel_saves_to_one_path_leave_one_file",
)


@attack(
    "69b",
    FILES,
    "A file's content without a login, and with a range that is none",
    "401; the range is ignored or 416",
    anywhere=True,
)
def content_without_login(site: Site) -> None:
    file = site.own.file
    expect_status(httpx.get(f"{site.url}/api/files/{file}/content").status_code, 401, 403)
    for asked in (
        "bytes=-1",
        "bytes=9-1",
        "bytes=0-99999999999999999999",
        "bytes=0-1,2-3",
        "bytes=x",
        "lines=1-2",
    ):
        found = site.attacker.get(f"/api/files/{file}/content", headers={"Range": asked})
        expect(found.status_code in (200, 206, 416), f"{asked} was answered {found.status_code}")


proven_by(
    125,
    FILES,
    "Another user of the machine reads the database, the files and the keys",
    "only their owner may",
    "house/test_private_files.py",
)
