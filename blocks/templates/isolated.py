"""The Jinja environment; run as a script, this file renders one template in a separate process.

The script runs with hard limits on memory and time, so it imports only Jinja.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from jinja2 import ChainableUndefined, TemplateError
from jinja2.sandbox import ImmutableSandboxedEnvironment

# `random` would make a pure block nondeterministic; the others produce formats that escaping does not cover.
REMOVED_FILTERS = ("tojson", "pprint", "urlize", "xmlattr", "random")
WRONG_TEMPLATE = (TemplateError, TypeError, ValueError, LookupError, ArithmeticError, AttributeError)


class TemplateEnvironment(ImmutableSandboxedEnvironment):
    """Sandboxed: only a limited `range` as global, no loader, unknown names render empty."""

    def __init__(self, *, escape_html: bool, max_range: int, **options: Any) -> None:
        super().__init__(autoescape=escape_html, undefined=ChainableUndefined, **options)
        self.max_range = max_range
        self.globals = {"range": self.capped_range}
        for name in REMOVED_FILTERS:
            del self.filters[name]

    def capped_range(self, *bounds: int) -> range:
        numbers = range(*bounds)
        if len(numbers) > self.max_range:
            raise ValueError(f"a range is longer than {self.max_range}")
        return numbers


def explain(error: BaseException) -> str:
    """Return a template's error in one line, with the line number if known."""
    line = getattr(error, "lineno", None)
    text = str(error).rstrip(".") or type(error).__name__
    return f"{text} (line {line})" if line else text


def render_here(job: dict[str, Any]) -> str:
    """Render the template; raise ValueError if the text is too long."""
    environment = TemplateEnvironment(escape_html=job["escape_html"], max_range=job["max_range"])
    pieces: list[str] = []
    left = job["max_characters"]
    for piece in environment.from_string(job["source"]).generate(job["values"]):
        left -= len(piece)
        if left < 0:
            raise ValueError(f"the text is longer than {job['max_characters']} characters")
        pieces.append(piece)
    return "".join(pieces)


def main() -> None:
    """Read a job from standard input and write the answer to standard output."""
    job = json.load(sys.stdin)
    try:
        answer = {"text": render_here(job)}
    except WRONG_TEMPLATE as error:
        answer = {"error": explain(error)}
    except (MemoryError, RecursionError) as error:
        answer = {"error": f"the template needs too much memory ({type(error).__name__})"}
    sys.stdout.write(json.dumps(answer))


if __name__ == "__main__":
    main()
