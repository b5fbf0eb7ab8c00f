"""Parse the XML-like tags of a model's answer into nested objects.

This is not XML: names may contain spaces, and there are no attributes, entities or declarations. No XML library accepts
that, and no entity can expand.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from boundary.errors import UnreadableContent
from boundary.parsers.utf8 import decode_text

TAG = re.compile(r"<(?P<close>/?)(?P<name>[^<>]*?)(?P<empty>/?)>")
NAME = re.compile(r"[^\W\d][\w .:-]*")


@dataclass(kw_only=True)
class Element:
    """An open tag and its content."""

    name: str
    texts: list[str] = field(default_factory=list)
    children: list[tuple[str, Any]] = field(default_factory=list)

    def value(self) -> Any:
        """Return its text, its children as an object, or a list of them if a name repeats."""
        if not self.children:
            return "".join(self.texts).strip()
        if max(Counter(name for name, _ in self.children).values()) > 1:
            return [{name: value} for name, value in self.children]
        return dict(self.children)


def parse(body: bytes, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the root tag and its content; raise UnreadableContent."""
    markup = decode_text(body)
    root = Element(name="")
    stack = [root]
    end = 0
    for count, tag in enumerate(TAG.finditer(markup)):
        if count >= arguments["max_tags"]:
            raise UnreadableContent(f"The markup has more than {arguments['max_tags']} tags.")
        add_text(stack, markup[end : tag.start()])
        end = tag.end()
        if tag["close"]:
            close(stack, read_name(tag))
        else:
            open_element(stack, read_name(tag), arguments["max_depth"])
            if tag["empty"]:
                close(stack, stack[-1].name)
    add_text(stack, markup[end:])
    if len(stack) > 1:
        raise UnreadableContent(f"The tag <{stack[-1].name}> is not closed.")
    if len(root.children) != 1:
        raise UnreadableContent("There must be exactly one root tag.")
    return dict(root.children)


def read_name(tag: re.Match[str]) -> str:
    name = tag["name"].strip()
    if "=" in name:
        raise UnreadableContent(
            f"The tag {tag[0][:50]} has attributes, which are not supported. Use nested tags instead."
        )
    if not NAME.fullmatch(name):
        raise UnreadableContent(f"The tag {tag[0][:50]} is not valid. A tag name must start with a letter.")
    return "_".join(name.lower().split())


def open_element(stack: list[Element], name: str, max_depth: int) -> None:
    if len(stack) > max_depth:
        raise UnreadableContent(f"The markup is nested deeper than {max_depth} tags.")
    stack.append(Element(name=name))


def close(stack: list[Element], name: str) -> None:
    element = stack[-1]
    if len(stack) == 1:
        raise UnreadableContent(f"The tag </{name}> has no opening tag.")
    if element.name != name:
        raise UnreadableContent(f"The tag </{name}> does not match the open tag <{element.name}>.")
    stack.pop()
    stack[-1].children.append((name, element.value()))


def add_text(stack: list[Element], text: str) -> None:
    if len(stack) == 1 and text.strip():
        raise UnreadableContent(f"There is text outside the root tag: {text.strip()[:50]!r}.")
    stack[-1].texts.append(text)
