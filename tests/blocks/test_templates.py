"""Templates: what they can do, and that hostile ones end quickly with a sentence."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from blocks import limits
from blocks.errors import BlockFailed
from blocks.templates.render import parse, render_isolated, render_template
from blocks.templates.safe import is_safe
from tests.tiers import examples

FRIENDLY: list[tuple[str, dict[str, Any], str]] = [
    ("no variables", {}, "no variables"),
    ("{{ a }} and {{ b.c[0] }}", {"a": 1, "b": {"c": ["x"]}}, "1 and x"),
    ("{{ a|upper }} {{ a|default('x') }} {{ b|default('x') }}", {"a": "y"}, "Y y x"),
    ("{% if a > 3 %}big{% else %}small{% endif %}", {"a": 5}, "big"),
    ("{% for k, v in d.items() %}{{ k }}={{ v }};{% endfor %}", {"d": {"a": 1, "b": 2}}, "a=1;b=2;"),
    ("{% for x in xs if x is odd %}{{ x }}{% else %}none{% endfor %}", {"xs": [1, 2, 3]}, "13"),
    ("{{ xs|join(', ') }}", {"xs": [1, 2]}, "1, 2"),
    ("{{ a ~ '-' ~ b }}", {"a": 1, "b": 2}, "1-2"),
    ("{{ a[:3] }}", {"a": "abcdef"}, "abc"),
    ("{{ 'yes' if a in [1, 2] else 'no' }}", {"a": 1}, "yes"),
    ("{{ unknown }}|{{ unknown.deep.er }}|{{ a.b }}", {"a": 5}, "||"),
]
CHILD_ONLY: list[tuple[str, dict[str, Any], str]] = [
    ("{% set x = a * 2 %}{{ x }}", {"a": 4}, "8"),
    ("{% macro m(x) %}<{{ x }}>{% endmacro %}{{ m(1) }}{{ m(2) }}", {}, "<1><2>"),
    ("{{ xs|map('upper')|list|length }}", {"xs": ["a", "b"]}, "2"),
    ("{{ '%.2f'|format(a) }}", {"a": 3.14159}, "3.14"),
    ("{% for x in xs %}{{ x ~ '!' }}{% endfor %}", {"xs": ["a"]}, "a!"),
    ("{{ a|replace('a', 'b') }}", {"a": "aa"}, "bb"),
]
HOSTILE = {
    "powers": "{{ 9 ** 9 ** 9 ** 9 }}{{ 10 ** 10 ** 10 }}",
    "multiplied text": "{{ 'a' * 10000000000 }}",
    "multiplied list": "{{ [0] * 10000000000 }}",
    "nested loops": "{% for a in range(9999) %}" * 3 + "{% endfor %}" * 3,
    "nested loops that work": "{% for a in range(9999) %}" * 2 + "{% set x = a * a %}" + "{% endfor %}" * 2,
    "long output": "{% for a in range(9999) %}{{ 'x' * 9999 }}{% endfor %}",
    "long literal output": "{% for a in range(9999) %}" + "x" * 10_000 + "{% endfor %}",
    "doubling by set": "{% set x = 'aaaaaaaaaa' %}" + "{% set x = x ~ x %}" * 40 + "{{ x }}",
    "doubling by block set": "{% set x %}aaaa{% endset %}" + "{% set x %}{{ x }}{{ x }}{% endset %}" * 40 + "{{ x }}",
    "doubling by loops": "{% for b in [a ~ a] %}" + "{% for b in [b ~ b] %}" * 15 + "{{ b }}" + "{% endfor %}" * 16,
    "growing by filters": "{{ a|string|list|string|list|string|list|string|list|string|list|string|list|string|list }}",
    "joined joins": "{{ a|join('xxxxxxxxxx')|join('xxxxxxxxxx')|join('xxxxxxxxxx')|join('xxxxxxxxxx') }}",
    "recursive macro": "{% macro m(n) %}{% if n %}{{ m(n - 1) }}{{ m(n - 1) }}{% endif %}{% endmacro %}{{ m(60) }}",
    "endless macro": "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
    "padding": "{{ 'x'|center(10000000000) }}",
    "padding method": "{{ 'x'.ljust(10000000000) }}",
    "formatting": "{{ '%10000000000d'|format(1) }}",
    "format method": "{{ '{:>10000000000}'.format(1) }}",
    "batch": "{{ [1]|batch(10000000000, 'x')|list }}",
    "rounding": "{{ 1.5|round(10000000, 'ceil') }}",
    "long range": "{{ range(10000000000)|list }}",
    "sandbox escape": "{{ ''.__class__.__mro__[1].__subclasses__() }}",
    "globals": "{{ cycler.__init__.__globals__.os.popen('id').read() }}",
    "lipsum": "{{ lipsum(100000) }}",
    "include": "{% include '/etc/passwd' %}",
    "import": "{% import 'os' as os %}",
    "self": "{{ self.__init__.__globals__ }}",
    "removed filter": "{{ a|tojson }}",
    "dice": "{{ [1, 2]|random }}",
    "syntax": "{% for %}",
    "unclosed": "{{ a",
    "deep parentheses": "{{ " + "(" * 5_000 + "1" + ")" * 5_000 + " }}",
    "deep conditions": "{% if a %}" * 2_000 + "{% endif %}" * 2_000,
    "too long": "{{ a }}" * 100_000,
}  # fmt: skip


@pytest.mark.parametrize(("source", "values", "expected"), FRIENDLY)
def test_simple_templates_are_rendered_in_this_process(
    source: str, values: dict[str, Any], expected: str
) -> None:
    assert is_safe(parse(source, False), source, values)
    assert render_template(source, values) == expected


@pytest.mark.parametrize(("source", "values", "expected"), CHILD_ONLY)
def test_other_templates_are_rendered_in_a_process_of_their_own(
    source: str, values: dict[str, Any], expected: str
) -> None:
    assert not is_safe(parse(source, False), source, values)
    assert render_template(source, values) == expected


@pytest.mark.parametrize(("source", "values", "expected"), FRIENDLY)
def test_both_ways_render_the_same(source: str, values: dict[str, Any], expected: str) -> None:
    assert render_isolated(source, values, False) == expected


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_template_ends_with_a_sentence_or_harmlessly(name: str) -> None:
    try:
        text = render_template(HOSTILE[name], {"a": "text" * 100})
    except BlockFailed as error:
        assert "template" in str(error)
        assert len(str(error)) < 2_000
    else:
        assert len(text) <= limits.MAX_TEMPLATE_OUTPUT_CHARACTERS
        assert "root:" not in text
        assert "uid=" not in text
        assert "subprocess" not in text


@pytest.mark.parametrize(
    "name", ["long output", "doubling by set", "multiplied text", "endless macro", "long range"]
)
def test_these_never_give_a_text(name: str) -> None:
    with pytest.raises(BlockFailed):
        render_template(HOSTILE[name], {"a": "text"})


def test_html_is_escaped_only_on_request() -> None:
    assert render_template("{{ a }}", {"a": "<b>&"}) == "<b>&"
    assert render_template("{{ a }}", {"a": "<b>&"}, escape_html=True) == "&lt;b&gt;&amp;"
    assert render_template("{% set b = a %}{{ b }}", {"a": "<b>"}, escape_html=True) == "&lt;b&gt;"


def test_large_values_are_rendered_too() -> None:
    text = "x" * 1_000_000
    assert render_template("{{ a }}", {"a": text}) == text


def test_values_whose_names_are_no_names_do_no_harm() -> None:
    assert render_template("{{ a }}", {"a": 1, "User's Email": 2, "": 3}) == "1"


@settings(max_examples=examples(150), deadline=None)
@given(
    st.lists(
        st.sampled_from(
            ["{{ a }}", "{{ b.c }}", "{% for x in b %}", "{% endfor %}", "{% if a %}", "{% endif %}", "{{ x|upper }}",
             "{{ ", " }}", "{%", "text", "{# note #}", "{{ a ~ b }}", "{% else %}", "{{ a|join(',') }}"]
        ),
        max_size=8,
    ).map("".join)
)  # fmt: skip
def test_any_mixture_renders_or_fails_with_a_sentence(source: str) -> None:
    try:
        render_template(source, {"a": "text", "b": ["c", "d"]})
    except BlockFailed as error:
        assert "template" in str(error)
