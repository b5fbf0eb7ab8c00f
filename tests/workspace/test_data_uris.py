"""Data URIs in values: moved to files, once per content, without filling memory."""

from __future__ import annotations

import base64
import re
import tracemalloc

import pytest
from django.contrib.auth.models import AbstractBaseUser
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.workspace.pictures import picture
from workspace import files, limits
from workspace.data_uris import STEP, DataUris, decoded
from workspace.models import WorkspaceFile


def data_uri(data: bytes, kind: str = "image/png") -> str:
    return f"data:{kind};base64,{base64.b64encode(data).decode()}"


def test_a_nested_data_uri_becomes_a_reference(ada: AbstractBaseUser) -> None:
    data = picture()
    uris = DataUris(user=ada)
    value = uris.move(
        {"out": [{"image": data_uri(data), "n": 1}], "text": f"see ({data_uri(b'other', 'text/plain')})!"}
    )
    image, other = uris.files
    assert value == {"out": [{"image": image.reference, "n": 1}], "text": f"see ({other.reference})!"}
    assert (image.media_type, files.read_range(image)) == ("image/png", data)
    assert image.path.startswith("results/") and image.path.endswith(".png")
    assert files.read_range(other) == b"other"


def test_the_same_content_is_kept_once_however_often_it_passes(
    ada: AbstractBaseUser, bob: AbstractBaseUser
) -> None:
    value = [data_uri(picture()), data_uri(picture())]
    first, second = DataUris(user=ada).move(value), DataUris(user=ada).move(value)
    assert first == second and first[0] == first[1]
    assert DataUris(user=bob).move(value) != first
    assert WorkspaceFile.objects.filter(user_id=ada.pk).count() == 1


@pytest.mark.parametrize(
    "text",
    [
        "data:image/png;base64,",
        "data:image/png;base64,...",
        "data:image/png;base64,A",
        "data:text/plain,hello",
        "data:image/png;base64 ,AAAA",
        "nothing at all",
        "",
    ],
)
def test_what_is_no_data_uri_stays_as_it_is(ada: AbstractBaseUser, text: str) -> None:
    assert DataUris(user=ada).move(text) == text
    assert not WorkspaceFile.objects.exists()


@pytest.mark.parametrize(
    "text",
    [
        "data:text/plain;charset=utf-8;base64,/+8=",
        "DATA:text/plain;BASE64,_-8=",
        "data:;base64,/+8",
    ],
)
def test_other_spellings_are_read(ada: AbstractBaseUser, text: str) -> None:
    uris = DataUris(user=ada)
    assert uris.move(text) == uris.files[0].reference
    assert files.read_range(uris.files[0]) == b"\xff\xef"


def test_what_does_not_fit_leaves_a_note(ada: AbstractBaseUser, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MAX_FILE_BYTES", 10)
    assert re.fullmatch(r"\[file of 11 bytes not kept: .+\]", DataUris(user=ada).move(data_uri(b"x" * 11)))
    monkeypatch.setattr(limits, "MAX_WORKSPACE_BYTES", 5)
    assert "not kept" in DataUris(user=ada).move(data_uri(b"x" * 8))
    assert not WorkspaceFile.objects.exists()


def test_more_than_the_cap_leave_notes(ada: AbstractBaseUser, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MAX_DATA_URIS", 2)
    moved = DataUris(user=ada).move([data_uri(bytes([index])) for index in range(4)])
    assert [text.startswith("workspace://") for text in moved] == [True, True, False, False]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(min_size=1, max_size=300))
def test_any_content_survives_the_way(data: bytes) -> None:
    text = base64.b64encode(data).decode()
    for spelled in (text, text.rstrip("="), base64.urlsafe_b64encode(data).decode().rstrip("=")):
        core = spelled.rstrip("=")
        assert b"".join(decoded("xx" + core, (2, 2 + len(core)))) == data


def test_slices_join_at_their_edges() -> None:
    data = bytes(range(256)) * (STEP // 200)
    text = base64.b64encode(data).decode().rstrip("=")
    assert len(text) > STEP
    assert b"".join(decoded(text, (0, len(text)))) == data


def test_sixty_megabytes_pass_without_being_copied(ada: AbstractBaseUser) -> None:
    data = b"0123456789abcdef" * (45 * 1024 * 1024 // 16)
    text = "before " + data_uri(data, "application/octet-stream") + " after"
    assert len(text) > 60_000_000
    tracemalloc.start()
    try:
        uris = DataUris(user=ada)
        moved = uris.move({"result": text})
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert moved == {"result": f"before {uris.files[0].reference} after"}
    assert uris.files[0].size == len(data)
    assert peak < 8 * 1024 * 1024
