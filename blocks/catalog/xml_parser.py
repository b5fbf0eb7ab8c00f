"""XML Parser: parse XML-like tags."""

from blocks import limits
from blocks.base import Category, Emissions, block
from blocks.context import BlockContext
from blocks.errors import BlockFailed
from blocks.examples import Example
from blocks.schema import BlockInputs, BlockOutputs, Object, Text, pin
from boundary.parser_process import parse_isolated

PARSER = "boundary.parsers.tagged_text"


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
        note="repeated tags become a list",
    ),
    Example(
        inputs={"input_xml": "<my tag>x &lt; y</my tag>"},
        outputs=[("parsed_xml", {"my_tag": "x &lt; y"})],
        note="spaces become underscores; entities are unchanged",
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
    Example(inputs={"input_xml": "<a><b>1</a></b>"}, error="does not match the open tag <b>"),
    Example(
        inputs={"input_xml": '<!DOCTYPE x [<!ENTITY a "aaaa">]><x>&a;</x>'},
        error="outside the root",
        note="declarations are refused",
    ),
    Example(inputs={"input_xml": "<a>" * 300 + "</a>" * 300}, error="nested deeper", documented=False),
]


@block(
    id="286380af-9529-4b55-8be0-1d7c854abdb5",
    name="XML Parser",
    category=Category.TEXT,
    outputs=Outputs,
    examples=EXAMPLES,
)
def xml_parser(inputs: Inputs, context: BlockContext) -> Emissions:
    """Convert XML-like markup with one root tag to nested objects."""
    if len(inputs.input_xml) > limits.MAX_XML_CHARACTERS:
        raise BlockFailed(f"The markup is longer than {limits.MAX_XML_CHARACTERS} characters.")
    if not inputs.input_xml.strip():
        raise BlockFailed("The markup is empty.")
    arguments = {"max_depth": limits.MAX_XML_DEPTH, "max_tags": limits.MAX_XML_TAGS}
    yield "parsed_xml", parse_isolated(PARSER, inputs.input_xml.encode("utf-8", "surrogatepass"), arguments)
