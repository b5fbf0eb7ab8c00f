"""Decide which templates are safe to render in this process: their time and memory are bounded by their input."""

from __future__ import annotations

from jinja2 import nodes

from blocks.schema import JSON

MAX_SOURCE_CHARACTERS = 20_000
MAX_VALUE_CHARACTERS = 200_000
MAX_NAMES = 500
MAX_CONST_CHARACTERS = 100
MAX_CONST_NUMBER = 1_000

# None of these makes a value larger than its operands.
PLAIN_NODES: tuple[type[nodes.Node], ...] = (
    *(nodes.Template, nodes.Output, nodes.TemplateData, nodes.Name, nodes.Const, nodes.Getattr),
    *(nodes.Getitem, nodes.Slice, nodes.If, nodes.CondExpr, nodes.Compare, nodes.Operand),
    *(nodes.And, nodes.Or, nodes.Not, nodes.Sub, nodes.Neg, nodes.Test, nodes.Filter, nodes.Call),
    *(nodes.For,),
)
# These grow by the sum of their operands; in a loop they could double repeatedly.
GROWING_NODES: tuple[type[nodes.Node], ...] = (
    *(nodes.Concat, nodes.Add, nodes.List, nodes.Tuple, nodes.Dict, nodes.Pair),
)
SAFE_FILTERS = frozenset(
    (
        *("default", "d", "upper", "lower", "title", "capitalize", "trim", "length", "count", "first"),
        *("last", "int", "float", "abs", "escape", "e", "safe", "string", "sort", "reverse", "unique"),
        *("wordcount", "truncate", "join"),
    )
)
SAFE_TESTS = frozenset(
    (
        *("defined", "undefined", "none", "string", "number", "mapping", "sequence", "iterable"),
        *("boolean", "true", "false", "odd", "even", "in"),
    )
)
SAFE_METHODS = frozenset(
    ["items", "keys", "values", "get", "upper", "lower", "strip", "split", "title", "startswith", "endswith"]
)


def is_safe(template: nodes.Template, source: str, values: JSON) -> bool:
    """Return whether the sizes of template and values bound the time and memory of rendering."""
    if len(source) > MAX_SOURCE_CHARACTERS or not _is_small(values):
        return False
    every = [template, *template.find_all(nodes.Node)]
    loops = any(isinstance(node, nodes.For) for node in every)
    allowed = PLAIN_NODES if loops else PLAIN_NODES + GROWING_NODES
    names = sum(isinstance(node, nodes.Name) for node in every)
    return names <= MAX_NAMES and all(
        _is_target(node) or (isinstance(node, allowed) and _is_plain(node)) for node in every
    )


def _is_target(node: nodes.Node) -> bool:
    """Return whether the node is a loop target such as `key, value`, which builds no value."""
    return isinstance(node, nodes.Tuple) and node.ctx == "store"


def _is_plain(node: nodes.Node) -> bool:
    match node:
        case nodes.Filter():
            joins = [inner for inner in node.find_all(nodes.Filter) if inner.name == "join"]
            return (
                node.name in SAFE_FILTERS and _small_arguments(node) and not (node.name == "join" and joins)
            )
        case nodes.Test():
            return node.name in SAFE_TESTS
        case nodes.Call():
            target = node.node
            if isinstance(target, nodes.Name):
                return target.name == "range"
            return isinstance(target, nodes.Getattr) and target.attr in SAFE_METHODS
        case nodes.For():
            return not node.recursive
        case _:
            return True


def _small_arguments(node: nodes.Filter) -> bool:
    if node.dyn_args is not None or node.dyn_kwargs is not None:
        return False
    arguments = [*(node.args or []), *(pair.value for pair in node.kwargs or [])]
    return all(
        isinstance(argument, nodes.Const) and _is_small_const(argument.value) for argument in arguments
    )


def _is_small_const(value: object) -> bool:
    if isinstance(value, str):
        return len(value) <= MAX_CONST_CHARACTERS
    return value is None or (isinstance(value, int | float) and abs(value) <= MAX_CONST_NUMBER)


def _is_small(values: JSON) -> bool:
    left = MAX_VALUE_CHARACTERS
    stack = [values]
    while stack and left >= 0:
        value = stack.pop()
        left -= len(value) + 1 if isinstance(value, str) else 8
        if isinstance(value, dict):
            stack += [*value.keys(), *value.values()]
        elif isinstance(value, list):
            stack += value
    return left >= 0
