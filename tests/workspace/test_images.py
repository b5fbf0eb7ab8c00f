"""Pictures for models: which, how large, and never a bomb."""

from __future__ import annotations

import base64
import io

import pytest
from django.contrib.auth.models import AbstractBaseUser
from PIL import Image

from boundary import limits as boundary_limits
from boundary.errors import UnreadableContent
from boundary.parsers import pictures
from tests.workspace.pictures import animated_gif, huge_png, noise, picture
from workspace import files, limits
from workspace.errors import BadImage
from workspace.images import choose_images, is_image, to_data_url


def opened(url: str) -> tuple[str, Image.Image, int]:
    header, _, payload = url.partition(",")
    data = base64.b64decode(payload, validate=True)
    return header.removeprefix("data:").removesuffix(";base64"), Image.open(io.BytesIO(data)), len(data)


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "GIF", "WEBP"])
def test_a_small_picture_is_shown_as_it_is(ada: AbstractBaseUser, kind: str) -> None:
    data = picture(kind)
    file = files.save(ada, "a", data)
    assert is_image(file)
    assert to_data_url(file) == f"data:image/{kind.lower()};base64,{base64.b64encode(data).decode()}"


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "GIF", "WEBP"])
def test_a_large_picture_is_scaled_down_and_keeps_its_shape(ada: AbstractBaseUser, kind: str) -> None:
    _, image, _ = opened(to_data_url(files.save(ada, "a", picture(kind, (400, 200))), max_edge=100))
    assert image.size == (100, 50)


def test_a_heavy_picture_is_made_to_fit_the_bytes(ada: AbstractBaseUser) -> None:
    media_type, image, size = opened(
        to_data_url(files.save(ada, "a", noise("PNG", (600, 600))), max_bytes=20_000)
    )
    assert media_type == "image/jpeg"
    assert size <= 20_000
    image.load()


def test_transparency_is_kept_when_it_fits_and_becomes_white_when_not(ada: AbstractBaseUser) -> None:
    clear = files.save(ada, "clear", picture("PNG", (400, 400), "RGBA"))
    media_type, image, _ = opened(to_data_url(clear, max_edge=100))
    assert (media_type, image.mode) == ("image/png", "RGBA")
    out = io.BytesIO()
    noisy = Image.effect_noise((300, 300), 90).convert("RGBA")
    noisy.putalpha(Image.effect_noise((300, 300), 90))
    noisy.save(out, "PNG")
    heavy = files.save(ada, "heavy", out.getvalue())
    assert opened(to_data_url(heavy, max_bytes=20_000))[0] == "image/jpeg"


def test_a_moving_picture_is_shown_still(ada: AbstractBaseUser) -> None:
    media_type, image, _ = opened(to_data_url(files.save(ada, "a", animated_gif())))
    assert media_type in ("image/png", "image/jpeg")
    assert not getattr(image, "is_animated", False)


def test_a_picture_that_cannot_be_made_small_enough_is_refused(ada: AbstractBaseUser) -> None:
    with pytest.raises(BadImage):
        to_data_url(files.save(ada, "a", noise("PNG", (300, 300))), max_bytes=10)


def test_a_turned_photo_is_shown_upright(ada: AbstractBaseUser) -> None:
    out, exif = io.BytesIO(), Image.Exif()
    exif[0x0112] = 6  # turned by a quarter
    Image.new("RGB", (400, 200)).save(out, "JPEG", exif=exif)
    _, image, _ = opened(to_data_url(files.save(ada, "a", out.getvalue()), max_edge=100))
    assert image.size == (50, 100)


def test_case_67_a_decompression_bomb_is_refused_before_it_is_decoded(
    ada: AbstractBaseUser, monkeypatch: pytest.MonkeyPatch
) -> None:
    def decode(*args: object) -> None:
        raise AssertionError("decoded")

    monkeypatch.setattr("PIL.ImageFile.ImageFile.load", decode)
    for size in ((50_000, 50_000), (9_000, 9_000), (1, 2**31 - 1)):
        file = files.save(ada, "bomb.png", huge_png(*size), number=True)
        assert (file.media_type, is_image(file)) == ("image/png", True)
        with pytest.raises(BadImage):
            to_data_url(file)
        asked = {"format": "PNG", "max_edge": 100, "max_bytes": 1000, "max_pixels": limits.MAX_IMAGE_PIXELS}
        with pytest.raises(UnreadableContent):  # in this process, where decoding would be noticed
            pictures.parse(huge_png(*size), asked)


@pytest.mark.parametrize("cut", [12, 40, 60])
@pytest.mark.parametrize("kind", ["PNG", "JPEG", "GIF", "WEBP"])
def test_a_damaged_picture_is_refused(ada: AbstractBaseUser, kind: str, cut: int) -> None:
    file = files.save(ada, "a", noise(kind, (50, 50), "L" if kind == "GIF" else "RGB")[:cut])
    with pytest.raises(BadImage):
        to_data_url(file)


@pytest.mark.parametrize("content", [b"text", b"<svg/>", b"%PDF-1.7"])
def test_what_is_no_picture_is_refused(ada: AbstractBaseUser, content: bytes) -> None:
    with pytest.raises(BadImage):
        to_data_url(files.save(ada, "a.png", content))


def test_pictures_are_chosen_up_to_both_limits_and_the_others_are_named(ada: AbstractBaseUser) -> None:
    small = [files.save(ada, f"{index}.png", picture(size=(8, 8 + index))) for index in range(4)]
    bomb, text = files.save(ada, "bomb", huge_png()), files.save(ada, "text", b"hi")
    choice = choose_images([bomb, small[0], text, small[0], *small[1:]], max_images=2)
    assert [shown.file_id for shown in choice.shown] == [small[0].id, small[1].id]
    assert set(choice.left_out) == {bomb.id, small[2].id, small[3].id}
    assert all(choice.left_out.values())
    by_bytes = choose_images(small, max_total_bytes=len(choice.shown[0].data_url) + 10)
    assert len(by_bytes.shown) == 1 and len(by_bytes.left_out) == 3


def test_a_picture_that_takes_too_long_to_decode_is_left_out(
    ada: AbstractBaseUser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(boundary_limits, "PARSER_GRACE_SECONDS", 0.0)
    monkeypatch.setattr(limits, "IMAGE_CPU_SECONDS", 0.001)
    file = files.save(ada, "a.png", noise("PNG", (2000, 2000)))
    assert "too much time or memory" in choose_images([file]).left_out[file.id]


def test_the_limits_let_a_phones_photo_through() -> None:
    assert 48_000_000 < limits.MAX_IMAGE_PIXELS < 100_000_000
