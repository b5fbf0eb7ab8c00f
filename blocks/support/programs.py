"""Programs for the sandbox: the files and the command that run code and save its last value."""

from __future__ import annotations

import base64
import shlex
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from blocks.coercion import parse_json
from blocks.schema import Object, Objects

RESULT_FILE = ".ratchet_result.json"
VARIABLES_FILE = ".ratchet_variables.json"
SCRIPT_FILE = ".ratchet_run.sh"
BOX = "/box"
MAX_FILES = 100

PYTHON_RUNNER = f"""
import ast, json, sys
scope = {{"__name__": "__main__"}}
with open({VARIABLES_FILE!r}) as file:
    scope.update(json.load(file))
with open("main.py", encoding="utf-8") as file:
    tree = ast.parse(file.read(), "main.py")
last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
exec(compile(tree, "main.py", "exec"), scope)
value = eval(compile(ast.Expression(last.value), "main.py", "eval"), scope) if last else None
if value is not None:
    result = {{"text": str(value)}}
    try:
        result["json"] = json.loads(json.dumps(value, allow_nan=False))
    except (TypeError, ValueError, RecursionError):
        pass
    with open({RESULT_FILE!r}, "w") as file:
        json.dump(result, file)
"""
JS_RUNNER = f"""
const fs = require('fs'), vm = require('vm');
Object.assign(globalThis, JSON.parse(fs.readFileSync('{VARIABLES_FILE}', 'utf8')));
globalThis.require = require;
const value = vm.runInThisContext(fs.readFileSync('main.js', 'utf8'), {{ filename: 'main.js' }});
Promise.resolve(value).then(value => {{
  if (value === undefined || value === null) return;
  const result = {{ text: typeof value === 'string' ? value : require('util').inspect(value) }};
  const json = JSON.stringify(value);
  if (json !== undefined) result.json = JSON.parse(json);
  fs.writeFileSync('{RESULT_FILE}', JSON.stringify(result));
}});
"""


@dataclass(frozen=True, kw_only=True)
class Language:
    """How to run a language: program file, command, and a runner that saves the last value."""

    file: str
    command: str
    runner: tuple[str, str] | None = None


LANGUAGES: Mapping[str, Language] = {
    "python": Language(
        file="main.py", command="python3 .ratchet_runner.py", runner=(".ratchet_runner.py", PYTHON_RUNNER)
    ),
    "js": Language(
        file="main.js", command="node .ratchet_runner.js", runner=(".ratchet_runner.js", JS_RUNNER)
    ),
    "bash": Language(file="main.sh", command="bash main.sh"),
    "r": Language(file="main.R", command="Rscript main.R"),
    "java": Language(file="Main.java", command="java Main.java"),
}


@dataclass(frozen=True, kw_only=True)
class Program:
    """A command and its files for the sandbox."""

    command: str
    files: Mapping[str, bytes]

    @classmethod
    def make(cls, language: Language, code: str, variables: bytes, setup: Sequence[str]) -> Program:
        """Build the program with its runner; a failing setup command ends the run."""
        lines = [
            "set -e",
            *(f"sh -c {shlex.quote(command)}" for command in setup),
            f"exec {language.command}",
        ]
        files = {
            language.file: code.encode(),
            VARIABLES_FILE: variables,
            SCRIPT_FILE: "\n".join(lines).encode(),
        }
        if language.runner:
            files[language.runner[0]] = language.runner[1].encode()
        return cls(command=f"sh {SCRIPT_FILE}", files=files)


def read_value(content: bytes | None) -> Object:
    """Return the last value from the result file, or {}; the program may have written anything there."""
    if content is None:
        return {}
    try:
        parsed = parse_json(content.decode())
    except ValueError:
        return {}
    if not isinstance(parsed, dict) or not isinstance(parsed.get("text"), str):
        return {}
    return {key: parsed[key] for key in ("text", "json") if key in parsed}


def describe_files(files: Mapping[str, bytes], *, leave_out: Collection[str]) -> Objects:
    """Describe the files a program wrote: text as text, the rest as data URIs."""
    names = sorted(name for name in files if name not in leave_out)
    return [describe_file(name, files[name]) for name in names[:MAX_FILES]]


def describe_file(name: str, content: bytes) -> Object:
    try:
        shown = content.decode()
    except UnicodeDecodeError:
        shown = f"data:application/octet-stream;base64,{base64.b64encode(content).decode('ascii')}"
    return {
        "path": f"{BOX}/{name}",
        "relative_path": name,
        "name": PurePosixPath(name).name,
        "content": shown,
        "size": len(content),
    }
