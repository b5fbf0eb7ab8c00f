"""One list of secret names for values, headers and free text."""

from __future__ import annotations

import pytest

from durable.redaction import REDACTED, SECRET_NAMES, is_secret_header, is_secret_name, redact, redact_text


@pytest.mark.parametrize(
    "name", ["password", "X-Api-Key", "apiKey", "Set-Cookie", "client_secret", "Id Token"]
)
def test_a_secret_name_is_known_in_any_spelling(name: str) -> None:
    assert is_secret_name(name)
    assert is_secret_header(name)
    assert redact({name: "s3cret"}) == {name: REDACTED}


@pytest.mark.parametrize("name", ["max_tokens", "token_count", "author", "next_page_token", "title", ""])
def test_a_name_that_only_contains_a_secret_one_is_not_secret_as_a_value(name: str) -> None:
    assert not is_secret_name(name)
    assert redact({name: "shown"}) == {name: "shown"}


@pytest.mark.parametrize(
    "name", ["X-Gitlab-Token", "X-Auth-Key", "Proxy-Authorization", "X-Telegram-Secret-Token"]
)
def test_a_header_that_contains_a_secret_name_is_secret(name: str) -> None:
    assert is_secret_header(name)


@pytest.mark.parametrize("name", ["Content-Type", "X-GitHub-Event", "User-Agent", ""])
def test_an_ordinary_header_is_shown(name: str) -> None:
    assert not is_secret_header(name)


def test_every_secret_name_is_a_secret_header() -> None:
    assert all(is_secret_header(name) for name in SECRET_NAMES)


@pytest.mark.parametrize(
    "text", ["password: hunter22", "Bearer abcdef", "api key = abcd1234", "secret=abcdef"]
)
def test_a_secret_in_free_text_is_replaced(text: str) -> None:
    assert redact_text(f"It said {text}.").startswith(f"It said {REDACTED}")


def test_ordinary_text_is_kept() -> None:
    assert redact_text("The credentials were refused.") == "The credentials were refused."
