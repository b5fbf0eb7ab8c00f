"""XML Parser: the tags a model was asked to answer in, as nested objects."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field

from durable import limits
from executions.blocks.base import Category, Emissions, block
from executions.blocks.context import BlockContext
from executions.blocks.errors import BlockFailed
from executions.blocks.examples import Example
from executions.blocks.schema import JSON, BlockInputs, BlockOutputs, Object, Text, pin

# Not XML proper: names may hold spaces, there are no attributes, entities or declarations. So no XML library
# fits, and no entity can expand.
TAG = re.compile(r"<(?P<close>/?)(?P<name>[^<>]*?)(?P<empty>/?)>")
NAME = re.compile(r"[^\W\d][\w .:-]*")


class Inputs(BlockInputs):
    input_xml: Text = pin(description="Markup with one root tag.")


class Outputs(BlockOutputs):
    parsed_xml: Object


EXAMPLES = [
    Example(
        inputs={"input_xml": "<Plan><Title>Go</Title><step>1</step></Plan>"},
        outputs=[("parsed_xml", {"plan": {"title": "Go", "step": "1"}})],
    ),
    Example(
        inputs={"input_xml": "<a><b>1</b><b>2</b></a>"},
        outputs=[("parsed_xml", {"a": [{"b": "1"}, {"b": "2"}]})],
        note="repeated siblings become a list",
    ),
    Example(
        inputs={"input_xml": "<my tag>x &lt; y</my tag>"},
        outputs=[("parsed_xml", {"my_tag": "x &lt; y"})],
        note="spaces become underscores, entities stay",
    ),
    Example(
        inputs={"input_xml": "<a>dropped<b>kept</b></a>"},
        outputs=[("parsed_xml", {"a": {"b": "kept"}})],
        note="text beside tags is dropped",
    ),
    Example(inputs={"input_xml": "  "}, error="empty"),
    Example(inputs={"input_xml": "<a>1</a> trailing"}, error="outside the root"),
    Example(inputs={"input_xml": '<a href="x">1</a>'}, error="attributes"),
    Example(inputs={"input_xml": "<a><b>1</b>"}, error="<a> is not closed"),
    Example(inputs={"input_xml": "<a><b>1</a></b>"}, error="closes <b>"),
    Example(
        inputs={"input_xml": '<!DOCTYPE x [<!ENTITY a "aaaa">]><x>&a;</x>'},
        error="outside the root",
        note="declarations are refused",
    ),
    Example(inputs={"input_xml": "<a>" * 300 + "</a>" * 300}, error="nested deeper", documented=False),
]


@dataclass(kw_only=True)
class Element:
    """An open tag and what was found in it."""

    name: str
    text: str = ""
    children: list[tuple[str, JSON]] = field(default_factory=list)

    def value(self) -> JSON:
        """Its text, an object of its children, or a list of them when a name repeats."""
        if not self.children:
            return self.text.strip()
        if max(Counter(name for name, _ in self.children).values()) > 1:
            return [{name: value} for name, value in self.children]
        return dict(self.children)


@block(
    id="286380af-9529-4b55-8be0-1d7c854abdb5",
    name="XML Parser",
    category=Category.TEXT,
    inputs=Inputs,
    outputs=Outputs,
    examples=EXAMPLES,
)
def xml_parser(inputs: Inputs, context: BlockContext) -> Emissions:
    """Turns XML-like markup with one root tag into nested objects."""
    if len(inputs.input_xml) > limits.MAX_XML_CHARACTERS:
        raise BlockFailed(f"The markup is longer than {limits.MAX_XML_CHARACTERS} characters.")
    if not inputs.input_xml.strip():
        raise BlockFailed("The markup is empty.")
    yield "parsed_xml", parse(inputs.input_xml)


def parse(markup: str) -> Object:
    root = Element(name="")
    stack = [root]
    end = 0
    for tag in TAG.finditer(markup):
        add_text(stack, markup[end : tag.start()])
        end = tag.end()
        if tag["close"]:
            close(stack, read_name(tag))
        else:
            open_element(stack, read_name(tag))
            if tag["empty"]:
                close(stack, stack[-1].name)
    add_text(stack, markup[end:])
    if len(stack) > 1:
        raise BlockFailed(f"The tag <{stack[-1].name}> is not closed.")
    if len(root.children) != 1:
        raise BlockFailed("There must be exactly one root tag.")
    return dict(root.children)


def read_name(tag: re.Match[str]) -> str:
    name = tag["name"].strip()
    if "=" in name:
        raise BlockFailed(f"The tag {tag[0][:50]} has attributes, which are not read. Use tags instead.")
    if not NAME.fullmatch(name):
        raise BlockFailed(f"The tag {tag[0][:50]} cannot be read. A name begins with a letter.")
    return "_".join(name.lower().split())


def open_element(stack: list[Element], name: str) -> None:
    if len(stack) > limits.MAX_XML_DEPTH:
        raise BlockFailed(f"The markup is nested deeper than {limits.MAX_XML_DEPTH} tags.")
    stack.append(Element(name=name))


def close(stack: list[Element], name: str) -> None:
    element = stack[-1]
    if len(stack) == 1:
        raise BlockFailed(f"The tag </{name}> closes nothing.")
    if element.name != name:
        raise BlockFailed(f"The tag </{name}> closes <{element.name}>, which is still open.")
    stack.pop()
    stack[-1].children.append((name, element.value()))


def add_text(stack: list[Element], text: str) -> None:
    if len(stack) == 1 and text.strip():
        raise BlockFailed(f"There is text outside the root tag: {text.strip()[:50]!r}.")
    stack[-1].text += text
