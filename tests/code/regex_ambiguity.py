"""Decides whether a regular expression can backtrack exponentially.

A backtracking matcher takes exponential time when some part of the pattern can read the same text in two ways and
be repeated (`(a+)+`, `(a|a)*`, `(<!--.*?-->)*`). In the words of the theory: its automaton has a state with two
different paths back to itself over the same word. That is decided here exactly, on the automaton, by looking at
pairs of states that read the same text side by side; where this module is not exact it errs towards a finding:

- a lookaround, an anchor and a back reference count as reading nothing, lookarounds are examined on their own;
- a repeat of up to MANY times or more counts as one without end, for it is just as slow in practice;
- whether the rest of the pattern can fail at all is not asked.

`is_polynomial` finds those that take quadratic time or more (`\\s*(.*?)\\s*$`) in the same way.
"""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from re import _constants as sre  # isort: skip
from re import _parser  # isort: skip

MANY = 10
MAX_PATHS = 500_000
# Every ASCII character, and some of each other kind that a category or a range may tell apart.
OTHERS = "\u0085\u00a0\u00b2\u00e9\u00df\u0416\u0660\u200e\u2013\u2028\u202e\u4e2d\ud800\uffff\U0001f600"


class TooManyPaths(Exception):
    """The pattern is too intricate to be decided; write it in parts."""


def is_exponential(pattern: str | bytes, flags: int = 0) -> bool:
    """Whether some text makes a backtracking matcher try exponentially many ways; raises TooManyPaths."""
    tree = _parser.parse(pattern, flags)
    return is_exponential_tree(tree, tree.state.flags)


def is_exponential_tree(tree: Any, flags: int) -> bool:
    builder = Builder(flags=flags, characters=alphabet(tree))
    builder.sequence(tree, builder.node(), builder.node())
    if any(has_two_ways(loop) for loop in loops(builder.positions())):
        return True
    return any(is_exponential_tree(part, flags) for part in builder.asides)


def alphabet(tree: Any) -> str:
    """The characters the pattern may tell apart: the usual ones, and each one it names with its neighbours."""
    named = {code + step for code in codes(tree) for step in (-1, 0, 1)}
    fit = {chr(code) for code in named if 0 <= code <= sys.maxunicode}
    return "".join(sorted(fit | {chr(code) for code in range(128)} | set(OTHERS)))


def codes(part: Any) -> Iterator[int]:
    """Every character code in a parsed pattern."""
    if isinstance(part, (list, tuple, _parser.SubPattern)):
        items = list(part)
        if len(items) == 2 and items[0] in (sre.LITERAL, sre.NOT_LITERAL):
            yield items[1]
        elif len(items) == 2 and items[0] is sre.RANGE:
            yield from items[1]
        else:
            for item in items:
                yield from codes(item)


@dataclass
class Builder:
    """A pattern as an automaton: nodes, steps between them that read nothing, and steps that read a character."""

    flags: int
    characters: str
    nodes: int = 0
    silent: dict[int, list[int]] = field(default_factory=lambda: defaultdict(list))
    reading: dict[int, list[tuple[int, int]]] = field(default_factory=lambda: defaultdict(list))  # mask, to
    asides: list[Any] = field(default_factory=list)
    held: set[int] = field(default_factory=set)  # ends of steps that are never taken back: in `*+` and `(?>`
    atomic: int = 0

    def node(self) -> int:
        self.nodes += 1
        return self.nodes - 1

    def sequence(self, parts: Any, start: int, end: int) -> None:
        for operation, argument in parts:
            following = self.node()
            self.part(operation, argument, start, following)
            start = following
        self.silent[start].append(end)

    def part(self, operation: Any, argument: Any, start: int, end: int) -> None:
        match operation:
            case sre.LITERAL | sre.NOT_LITERAL | sre.ANY | sre.IN:
                self.reading[start].append((self.mask(operation, argument), end))
                if self.atomic:
                    self.held.add(end)
            case sre.SUBPATTERN:
                self.group(argument, start, end)
            case sre.ATOMIC_GROUP:
                self.atomic += 1
                self.sequence(argument, start, end)
                self.atomic -= 1
            case sre.BRANCH:
                for choice in argument[1]:
                    self.sequence(choice, start, end)
            case sre.MAX_REPEAT | sre.MIN_REPEAT:
                self.repeat(*argument, start=start, end=end)
            case sre.POSSESSIVE_REPEAT:
                self.atomic += 1
                self.repeat(*argument, start=start, end=end)
                self.atomic -= 1
            case sre.GROUPREF_EXISTS:
                for choice in argument[1:]:
                    self.sequence(choice or [], start, end)
            case sre.ASSERT | sre.ASSERT_NOT:
                self.asides.append(argument[1])
                self.silent[start].append(end)
            case sre.AT | sre.GROUPREF | sre.FAILURE:
                self.silent[start].append(end)
            case _:
                raise AssertionError(f"unknown part of a pattern: {operation}")

    def group(self, argument: Any, start: int, end: int) -> None:
        """A group, with the flags that hold only in it."""
        _, added, removed, inner = argument
        outside = self.flags
        self.flags = (outside | added) & ~removed
        self.sequence(inner, start, end)
        self.flags = outside

    def repeat(self, least: int, most: Any, body: Any, *, start: int, end: int) -> None:
        endless = most is sre.MAXREPEAT or most >= MANY
        for _ in range(min(least, MANY) - (1 if endless and least else 0)):
            start = self.once(body, start)
        if endless:
            self.loop(body, start, end, needed=bool(least))
            return
        for _ in range(most - least):
            self.silent[start].append(end)
            start = self.once(body, start)
        self.silent[start].append(end)

    def once(self, body: Any, start: int) -> int:
        following = self.node()
        self.sequence(body, start, following)
        return following

    def loop(self, body: Any, start: int, end: int, *, needed: bool) -> None:
        """Its first time and each further time are told apart: two ways that differ in this are two ways."""
        first, again, after = self.node(), self.node(), self.node()
        self.silent[start] += [first] if needed else [first, end]
        self.silent[again].append(first)
        self.silent[again].append(end)
        self.silent[after].append(again)
        self.sequence(body, first, after)

    def mask(self, operation: Any, argument: Any) -> int:
        """Which characters of the alphabet a part reads, as bits."""
        return sum(1 << at for at, one in enumerate(self.characters) if self.reads(operation, argument, one))

    def reads(self, operation: Any, argument: Any, one: str) -> bool:
        forms = {one}
        if self.flags & re.IGNORECASE:
            forms |= {form for form in (one.lower(), one.upper()) if len(form) == 1}
        match operation:
            case sre.ANY:
                return bool(self.flags & re.DOTALL) or one != "\n"
            case sre.LITERAL:
                return chr(argument) in forms
            case sre.NOT_LITERAL:
                return chr(argument) not in forms
            case _:
                negated = bool(argument) and argument[0][0] is sre.NEGATE
                return negated != any(in_set(item, form) for item in argument for form in forms)

    def positions(self) -> Graph:
        """The steps that read, and from each the steps that may come next, once per silent way between them."""
        steps = [(start, mask, end) for start, out in self.reading.items() for mask, end in out]
        at = defaultdict(list)
        for number, (start, _, _) in enumerate(steps):
            at[start].append(number)
        graph = Graph(
            masks=[mask for _, mask, _ in steps],
            follows=[defaultdict(int) for _ in steps],
            held=frozenset(number for number, (_, _, end) in enumerate(steps) if end in self.held),
        )
        budget = [MAX_PATHS]
        ways = cache(lambda end: list(self.silent_ways(end, {end}, budget)))
        for number, (_, _, end) in enumerate(steps):
            for reached in ways(end):
                for following in at[reached]:
                    graph.follows[number][following] += 1
        return graph

    def silent_ways(self, node: int, passed: set[int], budget: list[int]) -> Iterator[int]:
        """Where one gets without reading, once per way that passes no node twice."""
        budget[0] -= 1
        if budget[0] < 0:
            raise TooManyPaths
        yield node
        for following in self.silent[node]:
            if following not in passed:
                yield from self.silent_ways(following, passed | {following}, budget)


@dataclass(kw_only=True)
class Graph:
    """Positions of a pattern: what each reads, and how many ways lead to which next one."""

    masks: list[int]
    follows: list[dict[int, int]]
    held: frozenset[int] = frozenset()


def loops(graph: Graph) -> Iterator[Graph]:
    """The parts of it that can be repeated, each on its own."""
    edges = {number: list(follows) for number, follows in enumerate(graph.follows)}
    for members in components(edges):
        numbers = {member: number for number, member in enumerate(members)}
        follows = [
            {numbers[to]: ways for to, ways in graph.follows[member].items() if to in numbers}
            for member in members
        ]
        yield Graph(masks=[graph.masks[member] for member in members], follows=follows)


def has_two_ways(loop: Graph) -> bool:
    """Whether one text leads around the loop in two ways."""
    if any(ways > 1 for follows in loop.follows for ways in follows.values()):
        return True
    pairs: dict[tuple[int, int], list[tuple[int, int]]] = {}
    waiting = [(number, number) for number in range(len(loop.masks))]
    while waiting:
        pair = waiting.pop()
        if pair in pairs:
            continue
        pairs[pair] = [
            (left, right)
            for left in loop.follows[pair[0]]
            for right in loop.follows[pair[1]]
            if loop.masks[left] & loop.masks[right]
        ]
        waiting += pairs[pair]
    return any(
        any(left == right for left, right in members) and any(left != right for left, right in members)
        for members in components(pairs)
    )


def components(edges: dict[Any, list[Any]]) -> Iterator[list[Any]]:
    """The sets of nodes that reach each other (Kosaraju); a node alone only when it leads to itself."""
    order: list[Any] = []
    seen: set[Any] = set()
    for root in edges:
        walk(root, edges, seen, order)
    backward: dict[Any, list[Any]] = defaultdict(list)
    for start, ends in edges.items():
        for end in ends:
            backward[end].append(start)
    seen = set()
    for root in reversed(order):
        members: list[Any] = []
        walk(root, backward, seen, members)
        if len(members) > 1 or (members and members[0] in edges[members[0]]):
            yield members


def walk(root: Any, edges: dict[Any, list[Any]], seen: set[Any], finished: list[Any]) -> None:
    """Depth first, without recursion; a node is put down when all behind it are."""
    if root in seen:
        return
    seen.add(root)
    stack: list[tuple[Any, Iterator[Any]]] = [(root, iter(edges.get(root, ())))]
    while stack:
        node, rest = stack[-1]
        following = next((one for one in rest if one not in seen), None)
        if following is None:
            stack.pop()
            finished.append(node)
        else:
            seen.add(following)
            stack.append((following, iter(edges.get(following, ()))))


def in_set(item: tuple[Any, Any], one: str) -> bool:
    operation, argument = item
    match operation:
        case sre.LITERAL:
            return bool(ord(one) == argument)
        case sre.RANGE:
            return bool(argument[0] <= ord(one) <= argument[1])
        case sre.CATEGORY:
            return CATEGORIES[argument].match(one) is not None
        case _:
            return False


CATEGORIES = {
    sre.CATEGORY_DIGIT: re.compile(r"\d"),
    sre.CATEGORY_NOT_DIGIT: re.compile(r"\D"),
    sre.CATEGORY_SPACE: re.compile(r"\s"),
    sre.CATEGORY_NOT_SPACE: re.compile(r"\S"),
    sre.CATEGORY_WORD: re.compile(r"\w"),
    sre.CATEGORY_NOT_WORD: re.compile(r"\W"),
}


# --- polynomial ---------------------------------------------------------------------------------


def is_polynomial(pattern: str | bytes, flags: int = 0) -> bool:
    """Whether a text can be split between two repeats in many ways, so that a match that fails takes quadratic time.

    In the words of the theory: two different states p and q and one word that leads from p to p, from p to q and from
    q to q. Starting the search anew at each place of a text is not counted. Raises TooManyPaths.
    """
    tree = _parser.parse(pattern, flags)
    return is_polynomial_tree(tree, tree.state.flags)


def is_polynomial_tree(tree: Any, flags: int) -> bool:
    builder = Builder(flags=flags, characters=alphabet(tree))
    builder.sequence(tree, builder.node(), builder.node())
    if is_splittable(builder.positions()):
        return True
    return any(is_polynomial_tree(part, flags) for part in builder.asides)


def is_splittable(graph: Graph) -> bool:
    edges = {number: list(follows) for number, follows in enumerate(graph.follows)}
    home = {member: set(members) for members in components(edges) for member in members}
    budget = [MAX_PATHS]
    return any(
        home[first] is not home[second] and splits(graph, home, first, second, budget)
        for first in home
        if first not in graph.held
        for second in home
    )


def splits(graph: Graph, home: dict[int, set[int]], first: int, second: int, budget: list[int]) -> bool:
    """Whether one word leads around both loops and from the first to the second."""
    seen: set[tuple[int, int, int]] = set()
    waiting = [(first, first, second)]
    while waiting:
        here = waiting.pop()
        for there in steps_of(graph, home, here, first, second):
            budget[0] -= 1
            if budget[0] < 0:
                raise TooManyPaths
            if there == (first, second, second):
                return True
            if there not in seen:
                seen.add(there)
                waiting.append(there)
    return False


def steps_of(
    graph: Graph, home: dict[int, set[int]], here: tuple[int, int, int], first: int, second: int
) -> Iterator[tuple[int, int, int]]:
    """Where the three get by one character; the outer two stay in their loops."""
    left_ways = [to for to in graph.follows[here[0]] if to in home[first]]
    right_ways = [to for to in graph.follows[here[2]] if to in home[second]]
    for left in left_ways:
        for right in right_ways:
            both = graph.masks[left] & graph.masks[right]
            if both:
                yield from (
                    (left, middle, right) for middle in graph.follows[here[1]] if both & graph.masks[middle]
                )
