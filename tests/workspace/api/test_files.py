"""/api/files over HTTP, and SECURITY.md cases 16, 21, 63-66."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from django.contrib.auth.models import AbstractBaseUser
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import AsyncClient
from rest_framework.test import APIClient

from tests.workspace.pictures import picture
from workspace import files, limits
from workspace.api.content import parse_range
from workspace.models import WorkspaceFile


@pytest.fixture
def client(ada: AbstractBaseUser) -> APIClient:
    client = APIClient()
    client.force_authenticate(ada)
    return client


def upload(client: APIClient, name: str, content: bytes, claimed: str = "image/png", **fields: Any) -> Any:
    return client.post(
        "/api/files", {"file": SimpleUploadedFile(name, content, claimed), **fields}, format="multipart"
    )


def body(response: Any) -> bytes:
    return b"".join(response.streaming_content)


def test_an_upload_answers_with_the_file(client: APIClient) -> None:
    session_id = uuid.uuid4()
    response = upload(client, "notes.txt", b"hello", path="a/notes.txt", session_id=str(session_id))
    assert response.status_code == 201
    file = response.json()
    assert (file["path"], file["name"], file["media_type"], file["size"]) == (
        "a/notes.txt",
        "notes.txt",
        "text/plain",
        5,
    )
    assert (file["session_id"], file["reference"]) == (str(session_id), f"workspace://{file['id']}")
    assert "blob" not in file
    assert client.get(f"/api/files/{file['id']}").json() == file
    assert body(client.get(file["content_url"])) == b"hello"


def test_a_taken_name_gets_a_number_unless_it_may_be_overwritten(client: APIClient) -> None:
    first, second = upload(client, "a.txt", b"1").json(), upload(client, "a.txt", b"2").json()
    assert (first["path"], second["path"]) == ("a.txt", "a (2).txt")
    third = upload(client, "a.txt", b"3", overwrite="true").json()
    assert (third["id"], third["path"]) == (first["id"], "a.txt")
    assert body(client.get(first["content_url"])) == b"3"


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("../../etc/cron.d/x", "x"),
        ("/etc/passwd", "passwd"),
        ("CON", "_CON"),
        ("a\u202egnp.exe", "agnp.exe"),
        (".bashrc", "bashrc"),
        ("x" * 300 + ".txt", "x" * (limits.MAX_NAME_CHARACTERS - 4) + ".txt"),
    ],
)
def test_case_63_an_upload_has_a_random_key_and_a_clean_name(
    client: APIClient, name: str, shown: str
) -> None:
    file = upload(client, "placeholder", b"x", path=name).json()
    assert file["name"] == shown
    assert ".." not in file["path"] and not file["path"].startswith("/")
    assert WorkspaceFile.objects.get(id=file["id"]).blob.startswith("workspace/")
    assert shown[:8] not in WorkspaceFile.objects.get(id=file["id"]).blob


def test_case_63_a_nul_in_a_name_is_refused_or_dropped(client: APIClient) -> None:
    response = upload(client, "placeholder", b"x", path="a\0b.txt")
    assert response.status_code == 400 or response.json()["path"] == "ab.txt"


def test_case_64_a_two_gigabyte_upload_is_refused_by_its_announced_length(client: APIClient) -> None:
    response = client.post(
        "/api/files", b"", content_type="multipart/form-data; boundary=x", CONTENT_LENGTH=str(2 * 1024**3)
    )
    assert response.status_code == 413
    assert response.json()["error"]["code"] == "file_too_large"
    assert "MB" in response.json()["error"]["message"]


def test_case_64_an_upload_over_the_cap_is_stopped_while_it_is_read(
    client: APIClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "MAX_FILE_BYTES", 100_000)
    response = upload(client, "a.bin", b"x" * 300_000)
    assert response.status_code == 413
    assert not WorkspaceFile.objects.exists()


def test_case_64_a_body_of_unknown_length_is_refused(client: APIClient) -> None:
    response = client.generic(
        "POST",
        "/api/files",
        "--x\r\n",
        content_type="multipart/form-data; boundary=x",
        HTTP_TRANSFER_ENCODING="chunked",
        CONTENT_LENGTH="",
    )
    assert response.status_code in (400, 411, 413)
    assert response.json()["error"]["message"]


def test_case_64_ten_thousand_form_fields_are_refused(client: APIClient) -> None:
    fields = {f"f{number}": "x" for number in range(10_000)}
    response = upload(client, "a.txt", b"x", **fields)
    assert response.status_code == 400
    assert response.json()["error"]["message"]


def test_case_64_a_huge_form_field_is_refused(client: APIClient, settings: Any) -> None:
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 1000
    assert upload(client, "a.txt", b"x", other="y" * 5000).status_code in (400, 413)


def test_a_full_workspace_answers_507(client: APIClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MAX_WORKSPACE_BYTES", 10)
    response = upload(client, "a.txt", b"x" * 11)
    assert response.status_code == 507
    error = response.json()["error"]
    assert (error["code"], bool(error["hint"])) == ("workspace_full", True)


@pytest.mark.parametrize("sent", [{}, {"file": "not a file"}, {"other": "x"}])
def test_an_upload_without_a_file_is_refused(client: APIClient, sent: dict[str, str]) -> None:
    response = client.post("/api/files", sent, format="multipart")
    assert response.status_code == 400
    assert "file" in response.json()["error"]["fields"]


def test_two_files_at_once_and_a_damaged_form_are_refused(client: APIClient) -> None:
    two = [SimpleUploadedFile("a", b"1"), SimpleUploadedFile("b", b"2")]
    assert client.post("/api/files", {"file": two}, format="multipart").status_code == 400
    damaged = client.post("/api/files", b"--x\r\nnonsense", content_type="multipart/form-data; boundary=")
    assert damaged.status_code == 400
    assert client.post("/api/files", {"file": "x"}, format="json").status_code == 415


@pytest.mark.parametrize(
    ("name", "content", "media_type"),
    [
        ("evil.svg", b"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>", "image/svg+xml"),
        ("evil.html", b"<script>alert(1)</script>", "text/html; charset=utf-8"),
        ("evil.png", b"<html><script>alert(1)</script>", "text/html; charset=utf-8"),
        ("a.pdf", b"%PDF-1.7\n\xe2\xe3", "application/pdf"),
    ],
)
def test_case_65_active_content_is_served_as_an_attachment(
    client: APIClient, name: str, content: bytes, media_type: str
) -> None:
    response = client.get(upload(client, name, content).json()["content_url"])
    assert response["Content-Type"] == media_type
    assert response["Content-Disposition"] == f'attachment; filename="{name}"'
    assert response["X-Content-Type-Options"] == "nosniff"
    assert response["Content-Security-Policy"] == "sandbox; default-src 'none'"
    assert body(response) == content


@pytest.mark.parametrize(
    "content", [picture("PNG"), picture("JPEG"), picture("GIF"), picture("WEBP"), b"plain"]
)
def test_case_65_pictures_and_plain_text_open_in_the_browser_still_sandboxed(
    client: APIClient, content: bytes
) -> None:
    response = client.get(upload(client, "a", content).json()["content_url"])
    assert response["Content-Disposition"].startswith("inline")
    assert response["X-Content-Type-Options"] == "nosniff"
    assert response["Content-Security-Policy"] == "sandbox; default-src 'none'"


def test_case_65_a_name_cannot_break_out_of_the_header(client: APIClient) -> None:
    file = upload(client, "x", b"\0", path='a"; b=c\r\nX-Evil: 1; é.bin').json()
    response = client.get(file["content_url"])
    assert "X-Evil" not in response
    assert "\n" not in response["Content-Disposition"]


def test_case_66_the_claimed_type_is_not_believed(client: APIClient) -> None:
    assert upload(client, "a.png", b"<html>", claimed="image/png").json()["media_type"] == "text/html"
    assert upload(client, "a.html", picture(), claimed="text/html").json()["media_type"] == "image/png"


@pytest.mark.parametrize("method", ["get", "patch", "delete"])
def test_case_16_anothers_file_answers_like_one_that_does_not_exist(
    client: APIClient, bob: AbstractBaseUser, method: str
) -> None:
    theirs = files.save(bob, "secret.txt", b"x")
    for path in ("", "/content") if method == "get" else ("",):
        answers = [
            getattr(client, method)(f"/api/files/{file_id}{path}", {"path": "stolen"}, format="json")
            if method == "patch"
            else getattr(client, method)(f"/api/files/{file_id}{path}")
            for file_id in (theirs.id, uuid.uuid4())
        ]
        assert [answer.status_code for answer in answers] == [404, 404]
        assert answers[0].json() == answers[1].json()
    assert files.find(bob, path="secret.txt") == theirs
    assert client.get("/api/files").json()["results"] == []


def test_without_a_login_nothing_is_shown(ada: AbstractBaseUser) -> None:
    file = files.save(ada, "a", b"x")
    for path in ("/api/files", f"/api/files/{file.id}", f"/api/files/{file.id}/content"):
        assert APIClient().get(path).status_code in (401, 403)


def test_files_are_listed_by_prefix_and_page(client: APIClient, ada: AbstractBaseUser) -> None:
    for path in ("a/1", "a/2", "a/3", "b/1"):
        files.save(ada, path, b"x")
    first = client.get("/api/files", {"prefix": "a/", "limit": "2"}).json()
    assert [file["path"] for file in first["results"]] == ["a/1", "a/2"]
    second = client.get("/api/files", {"prefix": "a/", "limit": "2", "cursor": str(first["next"])}).json()
    assert ([file["path"] for file in second["results"]], second["next"]) == (["a/3"], None)


def test_a_file_can_be_renamed_and_deleted(client: APIClient, ada: AbstractBaseUser) -> None:
    file = files.save(ada, "a.txt", b"x")
    files.save(ada, "b.txt", b"x")
    url = f"/api/files/{file.id}"
    assert client.patch(url, {"path": "../c.txt"}, format="json").json()["path"] == "c.txt"
    taken = client.patch(url, {"path": "b.txt"}, format="json")
    assert (taken.status_code, taken.json()["error"]["code"]) == (409, "path_taken")
    assert client.patch(url, {}, format="json").status_code == 400
    assert client.delete(url).status_code == 204
    assert client.delete(url).status_code == 404


@pytest.mark.parametrize(
    ("header", "status", "expected", "content_range"),
    [
        ("bytes=0-3", 206, b"0123", "bytes 0-3/10"),
        ("bytes=7-", 206, b"789", "bytes 7-9/10"),
        ("bytes=-2", 206, b"89", "bytes 8-9/10"),
        ("bytes=5-999", 206, b"56789", "bytes 5-9/10"),
        ("bytes=0-1,3-4", 200, b"0123456789", None),
        ("lines=1-2", 200, b"0123456789", None),
        ("bytes=5-2", 200, b"0123456789", None),
        ("bytes=10-", 416, None, "bytes */10"),
        ("bytes=-0", 416, None, "bytes */10"),
    ],
)
def test_a_range_is_answered(
    client: APIClient,
    ada: AbstractBaseUser,
    header: str,
    status: int,
    expected: bytes | None,
    content_range: Any,
) -> None:
    file = files.save(ada, "a.txt", b"0123456789")
    response = client.get(f"/api/files/{file.id}/content", HTTP_RANGE=header)
    assert (response.status_code, response.headers.get("Content-Range")) == (status, content_range)
    if expected is not None:
        assert body(response) == expected
        assert response["Content-Length"] == str(len(expected))


def test_an_unchanged_file_is_not_sent_again(client: APIClient, ada: AbstractBaseUser) -> None:
    file = files.save(ada, "a.txt", b"0123456789")
    url = f"/api/files/{file.id}/content"
    etag = client.get(url)["ETag"]
    assert client.get(url, HTTP_IF_NONE_MATCH=etag).status_code == 304
    assert client.get(url, HTTP_RANGE="bytes=0-1", HTTP_IF_RANGE=etag).status_code == 206
    assert client.get(url, HTTP_RANGE="bytes=0-1", HTTP_IF_RANGE='"older"').status_code == 200


def test_an_empty_file_can_be_uploaded_and_read(client: APIClient) -> None:
    file = upload(client, "empty", b"").json()
    assert body(client.get(file["content_url"])) == b""
    assert client.get(file["content_url"], HTTP_RANGE="bytes=0-").status_code == 416


def test_content_lost_in_storage_answers_410(client: APIClient, ada: AbstractBaseUser) -> None:
    file = files.save(ada, "a", b"x")
    WorkspaceFile.objects.filter(id=file.id).update(blob="workspace/00/gone")
    assert client.get(f"/api/files/{file.id}/content").status_code == 410


@pytest.mark.django_db(transaction=True)
async def test_under_asgi_content_is_streamed_in_blocks(ada: AbstractBaseUser) -> None:
    from asgiref.sync import sync_to_async

    file = await sync_to_async(files.save)(ada, "a.bin", b"\0" * 1_000_000)
    client = AsyncClient()
    await client.aforce_login(ada)  # type: ignore[arg-type]
    response = await client.get(f"/api/files/{file.id}/content")
    blocks = [block async for block in response.streaming_content]  # type: ignore[attr-defined]
    assert response.status_code == 200
    assert getattr(response, "is_async", False)
    assert len(blocks) == 4
    assert sum(map(len, blocks)) == 1_000_000


@pytest.mark.parametrize(
    "header", ["", "bytes=", "bytes=-", "bytes=a-b", "bytes=" + "9" * 30 + "-", "bytes=٣-٤"]
)
def test_a_range_that_is_none_asks_for_the_whole(header: str) -> None:
    assert parse_range(header, 10) is None


def test_the_admin_shows_files_without_their_content(ada: AbstractBaseUser, admin_client: Any) -> None:
    file = files.save(ada, "a.txt", b"needle-in-content")
    for url in ("/admin/workspace/workspacefile/", f"/admin/workspace/workspacefile/{file.id}/change/"):
        response = admin_client.get(url)
        assert response.status_code == 200
        assert b"a.txt" in response.content
        assert b"needle-in-content" not in response.content


@pytest.mark.usefixtures("frozen_process_ends")
@pytest.mark.parametrize("claimed", ["image/png", "text/html", "text/plain"])
def test_an_upload_of_comments_only_is_answered(client: APIClient, claimed: str) -> None:
    response = upload(client, "a.png", b"<!---->" * 1000, claimed)
    assert (response.status_code, response.json()["media_type"]) == (201, "text/plain")
