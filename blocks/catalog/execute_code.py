"""Execute Code: run code in the sandbox."""

import json
from decimal import Decimal
from typing import Literal

from blocks import limits
from blocks.base import Category, Cost, CredentialsNeed, Effects, Emissions, Leaves, block, repeatable_by_key
from blocks.coercion import to_json_text
from blocks.context import BlockContext
from blocks.errors import BlockCancelled, BlockFailed
from blocks.examples import Example, World
from blocks.schema import (
    BlockInputs,
    BlockOutputs,
    Boolean,
    Credentials,
    Integer,
    Object,
    Objects,
    Text,
    Texts,
    credentials_pin,
    pin,
)
from blocks.support.programs import LANGUAGES, RESULT_FILE, Program, describe_files, read_value
from boundary.errors import SandboxUnavailable
from boundary.sandbox import CollectedFile, KilledReason, SandboxRequest, SandboxResult


class Inputs(BlockInputs):
    credentials: Credentials = credentials_pin()
    setup_commands: Texts = pin([], description="Shell commands to run first, without network access.")
    variables: Object = pin({}, description="Global variables for the code (Python and JavaScript).")
    code: Text = pin("", description="The code to run.")
    language: Literal["python", "js", "bash", "r", "java"] = pin(
        "python", description="Language of the code."
    )
    timeout: Integer = pin(300, description="Time limit in seconds.", advanced=True)
    dispose_sandbox: Boolean = pin(
        True, description="Not used: every sandbox is removed after the run.", advanced=True
    )
    template_id: Text = pin("", description="Not used: there is one kind of sandbox.", advanced=True)


class Outputs(BlockOutputs):
    main_result: Object
    results: Objects
    response: Text
    stdout_logs: Text
    stderr_logs: Text
    files: Objects


SUM = SandboxResult(
    exit_code=0,
    stdout="adding\n",
    stderr="",
    files=(
        CollectedFile(path=RESULT_FILE, content=b'{"text": "5", "json": 5}'),
        CollectedFile(path="out.txt", content=b"five"),
    ),
)
FILE = {"path": "/box/out.txt", "relative_path": "out.txt", "name": "out.txt", "content": "five", "size": 4}
EXAMPLES = [
    Example(
        inputs={"code": "print('adding')\na + 3", "variables": {"a": 2}},
        outputs=[
            ("main_result", {"text": "5", "json": 5}),
            ("results", [{"text": "5", "json": 5}]),
            ("response", "5"),
            ("stdout_logs", "adding\n"),
            ("files", [FILE]),
        ],
        world=World(sandbox=SUM),
    ),
    Example(
        inputs={"code": "echo hi", "language": "bash"},
        outputs=[("results", []), ("stdout_logs", "hi\n"), ("files", [])],
        world=World(sandbox=SandboxResult(exit_code=0, stdout="hi\n", stderr="")),
    ),
    Example(
        inputs={"code": "1/0"},
        error="ZeroDivisionError: division by zero",
        note="printed output is lost",
        world=World(
            sandbox=SandboxResult(
                exit_code=1, stdout="", stderr="Traceback …\nZeroDivisionError: division by zero\n"
            )
        ),
    ),
    Example(
        inputs={"code": "while True: pass", "timeout": 1},
        error="longer than 1 seconds",
        world=World(sandbox=SandboxResult(exit_code=137, stdout="", stderr="", timed_out=True)),
    ),
    Example(
        inputs={"code": "x", "language": "r"},
        error="r is not installed in the sandbox",
        world=World(sandbox=SandboxResult(exit_code=127, stdout="", stderr="Rscript: not found")),
    ),
    Example(
        inputs={"code": "1"},
        error="switched off",
        world=World(sandbox=SandboxUnavailable()),
    ),
    Example(inputs={"code": " "}, error="`code` is empty"),
    Example(inputs={"code": "1", "timeout": 0}, error="`timeout` must be at least 1"),
    Example(inputs={"code": "1", "variables": {"a b": 1}}, error="'a b' is not a valid variable name"),
    Example(inputs={"code": "1", "variables": {"a": "x" * 70_000}}, error="larger than", documented=False),
    Example(
        inputs={"code": "echo", "language": "bash", "variables": {"a": 1}},
        error="only for Python and JavaScript",
    ),
]


@block(
    id="0b02b072-abe7-11ef-8372-fb5d162dd712",
    name="Execute Code",
    category=Category.DEVELOPER_TOOLS,
    outputs=Outputs,
    examples=EXAMPLES,
    effects=Effects.EFFECTFUL,
    reads_outside=False,
    leaves=Leaves.NOTHING,
    repeatable=repeatable_by_key,
    cost=Cost(per_second=Decimal("0.0001")),
    credentials=CredentialsNeed(
        provider="e2b", kind="api_key", required=False, note="not needed: code runs locally"
    ),
)
def execute_code(inputs: Inputs, context: BlockContext) -> Emissions:
    """Run code in a new local sandbox without network access, and return its result, output and files."""
    program = make_program(inputs)
    seconds = min(float(inputs.timeout), limits.MAX_CODE_SECONDS)
    request = SandboxRequest(
        command=program.command,
        files=program.files,
        timeout=seconds,
        owner=f"user-{context.user_id}",
    )
    result = context.ports.sandbox.run(request, context.cancel)
    check_result(result, inputs)
    yield from emit_result(result, program)


def emit_result(result: SandboxResult, program: Program) -> Emissions:
    files = {file.path: file.content for file in result.files}
    value = read_value(files.get(RESULT_FILE))
    if value:
        yield "main_result", value
    yield "results", [value] if value else []
    if value.get("text"):
        yield "response", value["text"]
    if result.stdout:
        yield "stdout_logs", result.stdout
    if result.stderr:
        yield "stderr_logs", result.stderr
    yield "files", describe_files(files, leave_out=program.files.keys() | {RESULT_FILE})


def make_program(inputs: Inputs) -> Program:
    if not inputs.code.strip():
        raise BlockFailed("`code` is empty.")
    if inputs.timeout < 1:
        raise BlockFailed("`timeout` must be at least 1 second.")
    if inputs.variables and inputs.language not in ("python", "js"):
        raise BlockFailed("Variables are supported only for Python and JavaScript.")
    for name in inputs.variables:
        if not name.isidentifier() or not name.isascii():
            raise BlockFailed(f"{name[:50]!r} is not a valid variable name.")
    if len(to_json_text(inputs.variables).encode()) > limits.MAX_VARIABLES_BYTES:
        raise BlockFailed(f"The variables are larger than {limits.MAX_VARIABLES_BYTES} bytes.")
    variables = json.dumps(inputs.variables).encode()
    return Program.make(LANGUAGES[inputs.language], inputs.code, variables, inputs.setup_commands)


def check_result(result: SandboxResult, inputs: Inputs) -> None:
    if result.killed_reason is KilledReason.CANCELLED:
        raise BlockCancelled
    if result.timed_out:
        raise BlockFailed(f"The code ran longer than {inputs.timeout} seconds and was stopped.")
    if result.killed_reason is not None:
        raise BlockFailed(f"The code was stopped because it exceeded a limit ({result.killed_reason}).")
    if result.exit_code == 127:
        raise BlockFailed(f"{inputs.language} is not installed in the sandbox.")
    if result.exit_code != 0:
        last = result.stderr.strip()[-2000:] or f"exit code {result.exit_code}"
        raise BlockFailed(f"The code failed: {last}")
