"""The block index for prompts: one line per block with name, id, inputs, outputs and description."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from blocks.base import ERROR_PIN, Block, Category
from blocks.registry import BlockRegistry, get_registry
from blocks.schema import PinInfo
from executions.agents.validation.scope import allow_all

SHORT = {
    "string": "text",
    "integer": "int",
    "number": "num",
    "boolean": "bool",
    "array": "list",
    "object": "obj",
}
LEFT_OUT = frozenset(
    [
        "advanced",
        "chunk_overlap",
        "compress_prompt_to_fit",
        "conversation_compaction",
        "credentials",
        "escape_html",
        "force_json_output",
        "max_retries",
        "max_tokens",
        "model",
        "ollama_host",
        "retry",
        "title",
        "user_id",
    ]
)  # they have sensible defaults; find_block shows them
MAX_CHOICES_CHARACTERS = 90
MAX_PINS = 9
MAX_WORDS_CHARACTERS = 58


def index_by_category(
    registry: BlockRegistry | None = None, may_use: Callable[[Block], bool] = allow_all
) -> dict[str, str]:
    """Return the lines of the blocks that may be used, by category."""
    lines: dict[Category, list[str]] = {category: [] for category in Category}
    for block in registry or get_registry():
        if may_use(block):
            lines[block.category].append(block_line(block))
    return {str(category): "\n".join(found) for category, found in lines.items() if found}


def block_line(block: Block) -> str:
    """Return e.g. `Calculator | 0a..-..9e | in operation*:Add|Subtract a*:num | out result:num | Does a sum.`"""
    inputs = pins_of((pin for pin in block.input_pins if not pin.hidden), starred=True)
    outputs = pins_of(pin for pin in block.output_pins if pin.name != ERROR_PIN)
    return f"{block.name} | {block.id} | in {inputs} | out {outputs} | {first_words(block.description)}"


def pins_of(pins: Iterable[PinInfo], *, starred: bool = False) -> str:
    shown = [pin_words(pin, starred=starred) for pin in pins if pin.name not in LEFT_OUT]
    more = " …" if len(shown) > MAX_PINS else ""
    return " ".join(shown[:MAX_PINS]) + more or "-"


def pin_words(pin: PinInfo, *, starred: bool) -> str:
    star = "*" if starred and pin.required else ""
    return f"{pin.name}{star}:{kind_of(pin)}"


def kind_of(pin: PinInfo) -> str:
    choices = "|".join(str(choice) for choice in pin.enum or ())
    if choices:
        return choices if len(choices) <= MAX_CHOICES_CHARACTERS else choices[:MAX_CHOICES_CHARACTERS] + "…"
    kind = pin.type.removesuffix("|null")
    base = kind.partition("<")[0].partition("(")[0].partition("|")[0]
    return SHORT.get(base, base)


def first_words(text: str) -> str:
    sentence = text.partition(". ")[0].rstrip(".")
    return (
        sentence
        if len(sentence) <= MAX_WORDS_CHARACTERS
        else sentence[: MAX_WORDS_CHARACTERS - 1].rstrip() + "…"
    )
