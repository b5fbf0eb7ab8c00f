"""Answers without tools: greetings, arithmetic, counting, text transformations, Markdown samples."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Collection
from re import Match

from llm.offline.reply import Reply, say

COUNT_DELAY_SECONDS = 0.02
MAX_COUNT = 5_000
MAX_WORDS = 20_000
MAX_DIGITS = 60
WHAT_I_AM = (
    "I'm the built-in offline model, a demo without a language model: I follow fixed rules and don't really understand "
    "what you write. "
    "To talk to a real language model, set `OPENAI_API_KEY`, or `OPENAI_BASE_URL` for any OpenAI-compatible server "
    "(Ollama, vLLM, OpenRouter …), and restart `./copilot up`."
)
ABILITIES = {  # required tool -> examples
    "create_agent": "**Agents**: “build an agent that greets people by name”, “run it with name=Anna”",
    "run_block": "**Blocks**: “find a block for text”, “run the Calculator block with a=2, b=3”",
    "web_fetch": "**The web**: “fetch https://example.com”",
    "write_workspace_file": "**Files**: “keep a note in note.txt: buy milk”, “read note.txt back”, “list my files”",
    "update_todo_list": "**To-do list**: “make a to-do list: bake, eat”, “tick off bake”",
    "web_search": "**Search**: “search the web for sourdough”",
    "schedule_followup": "**Later**: “remind me in 10 minutes to call Bob”, “remind me every day at 9 to stretch”, "
    "“show my follow-ups”",
    "run_sub_session": "**Long work**: “start a sub-session to research leases”, “count to 300 in the background”, "
    "“is it done?”, “stop the sub-session”",
    "add_understanding": "**About you**: “remember that I sell shoes in Porto”",
    "": "**Without tools**: “count to 300”, “write 200 words”, “12 * (3 + 4)”, “reverse hello”, “show me a table”",
}
SENTENCE = (
    "This is sentence {number} of a text that the offline model writes to show what streaming looks like."
)
WORD_TEXT = (
    "the offline model writes plain words one after the other so that you can watch a long answer stop it "
    "leave it and come back to find every word in its place"
)
WORDS = WORD_TEXT.split()
OPERATORS: dict[type[ast.AST], Callable[..., int | float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
}


def greet(match: Match[str]) -> Reply:
    return say(f"Hello! {WHAT_I_AM}\n\nAsk “what can you do?” to see what I can still help with.")


def explain(offered: Collection[str]) -> Reply:
    return say(f"{WHAT_I_AM}\n\n{abilities(offered)}")


def abilities(offered: Collection[str]) -> str:
    """Return what can be tried with the offered tools."""
    lines = [f"- {words}" for tool, words in ABILITIES.items() if not tool or tool in offered]
    return "Here is what I recognise. Try one:\n\n" + "\n".join(lines) + "\n"


def thank(match: Match[str]) -> Reply:
    return say("You're welcome!")


def remind(match: Match[str]) -> Reply:
    return say(f"You asked me to remind you: {match.group('text').strip()}")


def count(match: Match[str]) -> Reply:
    last = min(int(match.group("number")), MAX_COUNT)
    return Reply(pieces=tuple(f"{number}\n" for number in range(1, last + 1)), delay=COUNT_DELAY_SECONDS)


def write(match: Match[str]) -> Reply:
    number = min(int(match.group("number")), MAX_WORDS)
    if match.group("unit").lower().startswith("word"):
        pieces = tuple(f"{WORDS[n % len(WORDS)]} " for n in range(number))
        return Reply(pieces=pieces, delay=COUNT_DELAY_SECONDS)
    number = min(number, MAX_COUNT)
    pieces = tuple(f"{SENTENCE.format(number=n + 1)} " for n in range(number))
    return Reply(pieces=pieces, delay=COUNT_DELAY_SECONDS)


def echo(match: Match[str]) -> Reply:
    return say(match.group("text").strip())


def reverse(match: Match[str]) -> Reply:
    return say(match.group("text").strip()[::-1])


def shout(match: Match[str]) -> Reply:
    return say(match.group("text").strip().upper())


def measure(match: Match[str]) -> Reply:
    text = match.group("text").strip().strip("\"'?“”")
    return say(f"{len(text.split())} words, {len(text)} characters.")


def calculate(match: Match[str]) -> Reply:
    expression = match.group("sum").strip().rstrip("=?. ")
    try:
        value = _evaluate(ast.parse(expression.replace("^", "**"), mode="eval").body)
        return say(f"{expression} = {value:g}" if isinstance(value, float) else f"{expression} = {value}")
    except ZeroDivisionError:
        return say(f"{expression} would divide by zero.")
    except (ArithmeticError, SyntaxError, TypeError, ValueError):
        return say(f"I can't calculate {expression}.")


def show_table(match: Match[str]) -> Reply:
    rows = "\n".join(f"| {number} | {number**2} | {number**3} |" for number in range(1, 6))
    return say(f"Here is a table:\n\n| number | square | cube |\n|---:|---:|---:|\n{rows}\n")


def show_code(match: Match[str]) -> Reply:
    return say(
        'Here is some code:\n\n```python\ndef greet(name: str) -> str:\n    return f"Hello, {name}!"\n```\n'
    )


def show_list(match: Match[str]) -> Reply:
    return say(
        "Here is a list:\n\n1. **First** item\n2. *Second* item\n   - with a detail\n3. `third` item\n"
    )


def admit(text: str, offered: Collection[str]) -> Reply:
    """Say that no rule matches, and what can be tried instead."""
    words = " ".join(text.split())
    quoted = f" You wrote: “{words[:200]}{'…' if len(words) > 200 else ''}”." if words else ""
    return say(f"{WHAT_I_AM}{quoted} I have no rule for that.\n\n{abilities(offered)}")


def _evaluate(node: ast.AST) -> int | float:
    """Evaluate arithmetic; raise ValueError for anything else and for powers that are too large."""
    if (
        isinstance(node, ast.Constant)
        and isinstance(node.value, int | float)
        and not isinstance(node.value, bool)
    ):
        return node.value
    if isinstance(node, ast.UnaryOp) and type(node.op) in OPERATORS:
        return OPERATORS[type(node.op)](_evaluate(node.operand))
    if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
        left, right = _evaluate(node.left), _evaluate(node.right)
        if isinstance(node.op, ast.Pow) and abs(right) * len(str(abs(left))) > MAX_DIGITS:
            raise ValueError("too large")
        return OPERATORS[type(node.op)](left, right)
    raise ValueError("not a sum")


LOOKS_LIKE_A_SUM = re.compile(
    r"^(?:what(?:'s| is)|how much is|calculate|compute)?\s*"
    r"(?P<sum>[-+(]{0,9}\s?\d[\d\s.()+*/%^-]{0,99}[-+*/%^][\d\s.()+*/%^-]{0,99})[=?. ]*$",
    re.IGNORECASE,
)
