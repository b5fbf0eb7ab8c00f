"""Costs to the cent, by the longest beginning of a name."""

from __future__ import annotations

import json
import logging
from decimal import Decimal
from pathlib import Path

import pytest
from pytest_django import Settings

from llm import Usage, estimate_message_tokens, estimate_tokens, model_info
from llm.prices import PRICES, cost_of

MILLION = Usage(input_tokens=100_000, output_tokens=100_000)


@pytest.mark.parametrize(
    ("model", "usage", "dollars"),
    [
        ("gpt-4o", MILLION, "1.25"),
        ("gpt-4o-2024-08-06", MILLION, "1.25"),
        ("gpt-4o-mini", MILLION, "0.075"),
        ("openai/gpt-4o-mini", MILLION, "0.075"),
        ("GPT-4o-mini", MILLION, "0.075"),
        ("gpt-4o", Usage(input_tokens=100_000, cached_tokens=100_000), "0.125"),
        ("gpt-4o", Usage(input_tokens=100, cached_tokens=500), "0.000125"),
        ("gpt-6.1-sol", Usage(input_tokens=272_000), "0.544"),
        ("gpt-6.1-sol", Usage(input_tokens=300_000, output_tokens=1_000), "1.215"),
        ("claude-opus-5-5", MILLION, "2.4"),
        ("anthropic/claude-sonnet-5.5", MILLION, "1.2"),
        (
            "claude-opus-5-5",
            Usage(input_tokens=100_000, cached_tokens=50_000, cache_write_tokens=50_000),
            "0.26",
        ),
        ("claude-opus-5-5", Usage(input_tokens=100, cached_tokens=60, cache_write_tokens=500), "0.000212"),
        ("gpt-6-sol", Usage(input_tokens=100_000, cache_write_tokens=100_000), "0.25"),
        ("gpt-4o", Usage(input_tokens=100_000, cache_write_tokens=100_000), "0.25"),
        ("offline", MILLION, "0"),
        ("meta-llama/llama-4:free", MILLION, "0"),
        ("gpt-4o", Usage(), "0"),
    ],
)
def test_the_cost_of_an_answer(model: str, usage: Usage, dollars: str) -> None:
    assert cost_of(model, usage) == Decimal(dollars)


def test_no_token_is_written_to_a_cache_for_less_than_a_fresh_one() -> None:
    assert all(price.input <= price.cache_write <= 2 * price.input for price in PRICES.values())


def test_no_cached_token_costs_more_than_a_fresh_one() -> None:
    assert all(price.cached <= price.input <= price.output for price in PRICES.values())


def test_a_local_server_costs_nothing_whatever_its_model_is_called() -> None:
    assert cost_of("gpt-4o", MILLION, is_local=True) == 0


def test_an_unknown_model_costs_nothing_and_is_warned_about_once(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "llm.prices"):
        assert cost_of("nobody-knows-1", MILLION) == 0
        assert cost_of("nobody-knows-1", MILLION) == 0
    assert len(caplog.records) == 1


def test_a_file_overrides_and_extends_the_table(tmp_path: Path, settings: Settings) -> None:
    path = tmp_path / "prices.json"
    path.write_text(
        json.dumps({"gpt-4o": {"input": 1, "output": 1}, "Mine": {"input": "0.5", "output": 2, "cached": 0}})
    )
    settings.COPILOT_PRICES_FILE = str(path)
    assert cost_of("gpt-4o", MILLION) == Decimal("0.2")
    assert cost_of("mine-7b", Usage(input_tokens=1_000_000, cached_tokens=500_000)) == Decimal("0.25")


@pytest.mark.parametrize("content", ["", "[]", '{"x": 1}', '{"x": {"input": "a", "output": 1}}'])
def test_a_broken_price_file_is_logged_and_the_table_holds(
    content: str, tmp_path: Path, settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "prices.json"
    path.write_text(content)
    settings.COPILOT_PRICES_FILE = str(path)
    assert cost_of("gpt-4o", MILLION) == Decimal("1.25")
    assert "COPILOT_PRICES_FILE" in caplog.text


@pytest.mark.parametrize(
    ("name", "context", "sees"),
    [
        ("gpt-4o-mini", 128_000, True),
        ("openai/gpt-6.1-sol", 1_050_000, True),
        ("gpt-4-0613", 8_192, False),
        ("claude-haiku-4-5", 200_000, True),
        ("anthropic/claude-opus-4.6", 1_000_000, True),
        ("llama3.2-vision:11b", 128_000, True),
        ("offline", 128_000, False),
        ("who-is-this", 32_000, False),
        ("", 32_000, False),
    ],
)
def test_what_is_known_about_a_model(name: str, context: int, sees: bool) -> None:
    info = model_info(name)
    assert (info.context_tokens, info.sees_images) == (context, sees)


@pytest.mark.parametrize(
    ("text", "tokens"), [("", 0), ("a", 1), ("abcd", 1), ("abcde", 2), ("日本語", 3), ("é" * 8, 2)]
)
def test_the_estimate_of_tokens(text: str, tokens: int) -> None:
    assert estimate_tokens(text) == tokens


def test_the_estimate_counts_pictures_and_tool_calls_but_not_picture_bytes() -> None:
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 1_000_000}}
    with_picture = estimate_message_tokens(
        [{"role": "user", "content": [{"type": "text", "text": "hi"}, picture]}]
    )
    assert 1_000 < with_picture < 2_000
    call = {"id": "a", "function": {"name": "f", "arguments": "x" * 400}}
    assert estimate_message_tokens([{"role": "assistant", "content": None, "tool_calls": [call]}]) > 100


def test_usage_adds_up_and_stays_marked_as_estimated() -> None:
    total = Usage(input_tokens=1, output_tokens=2, estimated=True) + Usage(input_tokens=3, cached_tokens=4)
    assert total == Usage(input_tokens=4, output_tokens=2, cached_tokens=4, estimated=True)
