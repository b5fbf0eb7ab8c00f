"""The problem codes of validation, with their severity and meaning, and the report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from executions import limits


class Code(StrEnum):
    """A kind of problem; part of the public API."""

    NOTHING_TO_RUN = "nothing_to_run"
    MISSING_ID = "missing_id"
    BAD_ID = "bad_id"
    DUPLICATE_ID = "duplicate_id"
    UNKNOWN_BLOCK = "unknown_block"
    BLOCK_DENIED = "block_denied"
    MISSING_INPUT = "missing_input"
    WRONG_TYPE = "wrong_type"
    UNKNOWN_PIN = "unknown_pin"
    BAD_NESTED_PIN = "bad_nested_pin"
    DANGLING_LINK = "dangling_link"
    TYPE_MISMATCH = "type_mismatch"
    CANNOT_START = "cannot_start"
    SUB_AGENT_WITHOUT_ID = "sub_agent_without_id"
    SUB_AGENT_NOT_FOUND = "sub_agent_not_found"
    SUB_AGENT_INPUT_MISSING = "sub_agent_input_missing"
    SUB_AGENT_INVALID = "sub_agent_invalid"
    MORE_PROBLEMS = "more_problems"
    NO_INPUT = "no_input"
    NO_OUTPUT = "no_output"
    UNKNOWN_INPUT = "unknown_input"
    OLD_NAME = "old_name"
    STRAY_CREDENTIALS = "stray_credentials"
    SECRET_REMOVED = "secret_removed"  # noqa: S105
    SECRET_SUSPECTED = "secret_suspected"  # noqa: S105
    NOT_STATIC = "not_static"
    DUPLICATE_LINK = "duplicate_link"
    DUPLICATE_INPUT_NAME = "duplicate_input_name"
    LINK_WITHOUT_ID = "link_without_id"
    NO_POSITION = "no_position"


@dataclass(frozen=True, kw_only=True)
class Meaning:
    """The meaning of a code. An error keeps the agent from running, a warning does not."""

    text: str
    error: bool = True
    fixed: str = ""  # what fix_graph does about it


MEANINGS: dict[Code, Meaning] = {
    Code.NOTHING_TO_RUN: Meaning(text="The graph has no node to run."),
    Code.MISSING_ID: Meaning(text="A node has no id.", fixed="gives it one"),
    Code.BAD_ID: Meaning(text="The id of a node is too long.", fixed="gives it another"),
    Code.DUPLICATE_ID: Meaning(
        text="Two nodes, or two links, share an id.", fixed="gives the later one another"
    ),
    Code.UNKNOWN_BLOCK: Meaning(
        text="The node uses a block that is not installed here; `block` names it and all nodes that use it.",
        fixed="replaces a block's name with its id, and the block with a general one that does the same",
    ),
    Code.BLOCK_DENIED: Meaning(text="The permissions of this session do not allow the block."),
    Code.MISSING_INPUT: Meaning(
        text="A required input has neither a value nor a link.",
        fixed="names unnamed inputs and outputs, and fills in triggers",
    ),
    Code.WRONG_TYPE: Meaning(
        text="A value on a node does not fit its pin.",
        fixed="corrects the spelling of choices",
    ),
    Code.UNKNOWN_PIN: Meaning(
        text="A link names a pin its node does not have.", fixed="if one pin's name is clearly the nearest"
    ),
    Code.BAD_NESTED_PIN: Meaning(text="A nested pin refers to a part that its value cannot have."),
    Code.DANGLING_LINK: Meaning(
        text="A link starts or ends at a node that does not exist.", fixed="removes it"
    ),
    Code.TYPE_MISMATCH: Meaning(
        text="The value of a link can never fit its target pin.",
        fixed="inserts a Universal Type Converter",
    ),
    Code.CANNOT_START: Meaning(text="Nodes wait for each other in a cycle, so none of them ever runs."),
    Code.SUB_AGENT_WITHOUT_ID: Meaning(text="An Agent Executor does not say which agent to run."),
    Code.SUB_AGENT_NOT_FOUND: Meaning(
        text="The agent is neither among the sub_graphs nor in the library, or several match equally."
    ),
    Code.SUB_AGENT_INPUT_MISSING: Meaning(text="A required input of a sub-agent is missing."),
    Code.SUB_AGENT_INVALID: Meaning(text="The sub-agent itself cannot run."),
    Code.MORE_PROBLEMS: Meaning(text="There are more problems than are listed."),
    Code.NO_INPUT: Meaning(text="The agent has no inputs: it does the same each time.", error=False),
    Code.NO_OUTPUT: Meaning(
        text="The agent has no Agent Output: its executions end without outputs.", error=False
    ),
    Code.UNKNOWN_INPUT: Meaning(
        text="The block has no input of that name; the value is kept and ignored.",
        error=False,
        fixed="if one pin's name is clearly the nearest",
    ),
    Code.OLD_NAME: Meaning(
        text="A pin has the name it had in old exports.", error=False, fixed="uses the current name"
    ),
    Code.STRAY_CREDENTIALS: Meaning(
        text="The block takes no credentials here, or they do not refer to a stored credential.",
        error=False,
        fixed="removes them",
    ),
    Code.SECRET_REMOVED: Meaning(text="A secret was removed from the graph when it was saved.", error=False),
    Code.SECRET_SUSPECTED: Meaning(text="A text looks like it contains a key or a password.", error=False),
    Code.NOT_STATIC: Meaning(
        text="A link from a block with static outputs is not marked static.",
        error=False,
        fixed="marks it",
    ),
    Code.DUPLICATE_LINK: Meaning(
        text="Two links connect the same pins: the value arrives twice.", error=False, fixed="removes one"
    ),
    Code.DUPLICATE_INPUT_NAME: Meaning(text="Two inputs share a name: both get the value.", error=False),
    Code.LINK_WITHOUT_ID: Meaning(text="A link has no id.", error=False, fixed="gives it one"),
    Code.NO_POSITION: Meaning(
        text="Nodes have no position on the canvas, or the same one.", error=False, fixed="lays them out"
    ),
}


@dataclass(frozen=True, kw_only=True)
class MissingBlock:
    """A block that is not installed, and the nodes that use it."""

    id: str
    name: str
    provider: str = ""
    node_ids: tuple[str, ...] = ()
    nearest: str = ""  # name of the block here that comes nearest
    replaceable: bool = False  # fix_graph puts that block in its place

    def as_json(self) -> dict[str, Any]:
        shown = {"id": self.id, "name": self.name, "provider": self.provider, "nearest": self.nearest}
        given = {name: value for name, value in shown.items() if value}
        return {**given, "node_ids": list(self.node_ids), "replaceable": self.replaceable}


@dataclass(frozen=True, kw_only=True)
class Problem:
    """One problem: its place, and a sentence that says what to do."""

    code: Code
    message: str
    node_id: str = ""
    pin: str = ""
    sub_agent: str = ""  # name of the sub-agent that contains it
    missing: MissingBlock | None = None

    @property
    def is_error(self) -> bool:
        return MEANINGS[self.code].error

    def as_json(self) -> dict[str, Any]:
        shown = {"code": str(self.code), "message": self.message, "node_id": self.node_id}
        shown |= {"pin": self.pin, "sub_agent": self.sub_agent}
        block = {"block": self.missing.as_json()} if self.missing else {}
        return {name: value for name, value in shown.items() if value} | block


@dataclass(frozen=True, kw_only=True)
class ValidationReport:
    """The problems found by validation."""

    errors: tuple[Problem, ...] = ()
    warnings: tuple[Problem, ...] = ()

    @property
    def valid(self) -> bool:
        return not self.errors

    def as_json(self) -> dict[str, Any]:
        return {
            "valid": self.valid,
            "errors": [problem.as_json() for problem in self.errors],
            "warnings": [problem.as_json() for problem in self.warnings],
        }


def make_report(problems: Sequence[Problem]) -> ValidationReport:
    errors = [problem for problem in problems if problem.is_error]
    warnings = [problem for problem in problems if not problem.is_error]
    return ValidationReport(errors=cap(errors), warnings=cap(warnings))


def cap(problems: Sequence[Problem]) -> tuple[Problem, ...]:
    """Limit the problems to a readable number; the last one gives the number of the rest."""
    most = limits.MAX_AGENT_PROBLEMS
    if len(problems) <= most:
        return tuple(problems)
    rest = len(problems) - most
    message = f"There are {rest} more problems. Fix those listed and validate again."
    return (*problems[:most], Problem(code=Code.MORE_PROBLEMS, message=message))
