"""Code Extraction: extract fenced code by language."""

import re
from collections import defaultdict

from blocks.base import Category, Emissions, block
from blocks.context import BlockContext
from blocks.examples import Example
from blocks.schema import BlockInputs, BlockOutputs, Text, pin

FENCE = re.compile(r"\s{0,3}(?P<ticks>`{3,}+)\s*+(?P<language>[^\s`]*+)[^`]*+")
LANGUAGES = {
    "html": ("html", "htm"),
    "css": ("css",),
    "javascript": ("javascript", "js", "jsx", "mjs"),
    "python": ("python", "py", "python3"),
    "sql": ("sql",),
    "java": ("java",),
    "cpp": ("cpp", "c++", "cc"),
    "csharp": ("csharp", "c#", "cs"),
    "json_code": ("json",),
    "bash": ("bash", "sh", "shell", "zsh"),
    "php": ("php",),
    "ruby": ("ruby", "rb"),
    "yaml": ("yaml", "yml"),
    "markdown": ("markdown", "md"),
    "typescript": ("typescript", "ts", "tsx"),
    "xml": ("xml",),
}
PIN_OF = {alias: pin_name for pin_name, aliases in LANGUAGES.items() for alias in aliases}


class Inputs(BlockInputs):
    text: Text = pin(description="Text that contains fenced code.")


class Outputs(BlockOutputs):
    html: Text
    css: Text
    javascript: Text
    python: Text
    sql: Text
    java: Text
    cpp: Text
    csharp: Text
    json_code: Text
    bash: Text
    php: Text
    ruby: Text
    yaml: Text
    markdown: Text
    typescript: Text
    xml: Text
    remaining_text: Text


EXAMPLES = [
    Example(
        inputs={
            "text": "Run this:\n```py\nprint(1)\n```\nand\n```python\nprint(2)\n```\nor\n```sql\nSELECT 1;\n```"
        },
        outputs=[
            ("python", "print(1)\n\nprint(2)"),
            ("sql", "SELECT 1;"),
            ("remaining_text", "Run this:\nand\nor"),
        ],
        note="aliases are treated as one language, and several fences are joined",
    ),
    Example(inputs={"text": "no code"}, outputs=[("remaining_text", "no code")]),
    Example(
        inputs={"text": "```cobol\nSTOP RUN.\n```"},
        outputs=[("remaining_text", "```cobol\nSTOP RUN.\n```")],
        note="unknown languages stay in the text",
    ),
    Example(inputs={}, error="needs the input 'text'"),
]


@block(
    id="d3a7d896-3b78-4f44-8b4b-48fbf4f0bcd8",
    name="Code Extraction",
    category=Category.TEXT,
    outputs=Outputs,
    examples=EXAMPLES,
)
def code_extraction(inputs: Inputs, context: BlockContext) -> Emissions:
    """Extract fenced code from a text, with one output per language and one for the remaining text."""
    code, remaining = split_code(inputs.text.splitlines())
    for pin_name in LANGUAGES:
        if pin_name in code:
            yield pin_name, "\n\n".join(code[pin_name])
    yield "remaining_text", "\n".join(remaining).strip()


def split_code(lines: list[str]) -> tuple[dict[str, list[str]], list[str]]:
    """Return the code of each pin, and the lines outside of known fences."""
    code: dict[str, list[str]] = defaultdict(list)
    remaining: list[str] = []
    fence: list[str] = []
    opened: re.Match[str] | None = None
    for line in lines:
        if opened is None:
            opened = FENCE.fullmatch(line)
            (fence if opened else remaining).append(line)
            continue
        fence.append(line)
        if line.strip() == opened["ticks"]:
            pin_name = PIN_OF.get(opened["language"].lower())
            if pin_name:
                code[pin_name].append("\n".join(fence[1:-1]))
            else:
                remaining += fence
            fence, opened = [], None
    return code, remaining + fence
